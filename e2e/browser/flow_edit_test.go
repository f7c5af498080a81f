package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

func TestEveryFieldCanBeEditedOnThePage(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Old title", Description: "Old words."})
	for _, scripted := range []bool{true, false} {
		t.Run(fmt.Sprintf("with scripts %v", scripted), func(t *testing.T) {
			b := inst.tab()
			if !scripted {
				b.withoutScripts()
			}
			b.expect("422")
			b.open(path(tk.ID, ""))
			word := fmt.Sprintf("words-%v", scripted)
			b.click("#edit-title summary")
			b.fill("#title", "Title of "+word)
			b.press("#edit-title button|Save")
			equal(t, "title", inst.task(tk.ID).Title, "Title of "+word)

			b.click("#edit-description summary")
			b.fill("#description", "**"+word+"**")
			if scripted {
				b.click("button|Preview")
			} else {
				b.press("button|Preview")
			}
			b.wait(`document.querySelector(".preview-out .markdown strong")?.textContent === ` + quote(word))
			equal(t, "typed text", b.value("#description"), "**"+word+"**")
			b.press("#edit-description button|Save")
			equal(t, "description", inst.task(tk.ID).Description, "**"+word+"**")

			b.click("#edit-priority summary")
			b.fill("#priority", "9000000")
			eval[chromedp.Void](b, `void document.querySelector("#priority").removeAttribute("max")`)
			b.press("#edit-priority button|Save")
			b.see("Must be")
			if scripted { // a live update removes none of it
				must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Meanwhile"))
				b.see("Meanwhile")
				b.see("Must be")
			}
			equal(t, "typed text", b.value("#priority"), "9000000")
			b.fill("#priority", "4")
			b.press("#edit-priority button|Save")
			equal(t, "priority", inst.task(tk.ID).Priority, 4)

			b.click("#edit-labels summary")
			b.fill("#labels", "Wrong label")
			b.press("#edit-labels button|Save")
			b.wait(`document.querySelector("#labels-err")`)
			equal(t, "typed text", b.value("#labels"), "Wrong label")
			b.fill("#labels", "api later")
			b.press("#edit-labels button|Save")
			equal(t, "labels", fmt.Sprint(inst.task(tk.ID).Labels), "[api later]")
			must(inst.svc.UpdateTask(ctx, inst.maya, tk.ID, task.Patch{Labels: &[]string{}}))
		})
	}
}

func TestATaskIsHandedOverInTheSidebar(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Carry me"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.click("#edit-owner summary")
	b.wait(`document.activeElement.id === "to"`)
	b.choose("#to", "scout")
	b.fill("#hand-comment", "You know the way.")
	b.press("button|Hand over")
	b.see("You know the way.")
	equal(t, "owner", inst.task(tk.ID).Owner, "scout")
}

func TestAChangeByAnotherPersonIsShownAndTypedTextStays(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "The title", Steps: []task.Step{{Title: "A step"}}})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	b.click("#edit-title summary")
	b.fill("#title", "My title")
	done, theirs := true, "Their title"
	must(inst.svc.UpdateStep(ctx, inst.maya, tk.ID, 0, task.StepPatch{Done: &done}))
	b.wait(`document.querySelector("#step-0.done")`)
	equal(t, "typed text after a live change", b.value("#title"), "My title")
	must(inst.svc.UpdateTask(ctx, inst.maya, tk.ID, task.Patch{Title: &theirs}))
	b.see("Their title")
	b.expect("409")
	b.press("#edit-title button|Save")
	b.see("maya changed title The title → Their title meanwhile.")
	equal(t, "typed text", b.value("#title"), "My title")
	equal(t, "title", inst.task(tk.ID).Title, "Their title")
	b.press("#edit-title button|Save")
	b.see("Saved the title")
	equal(t, "title", inst.task(tk.ID).Title, "My title")
	t.Run("z undoes the edit", func(t *testing.T) {
		b.keys("z")
		b.see("is unchanged")
		equal(t, "title", inst.task(tk.ID).Title, "Their title")
	})
	t.Run("a change of another field is not a conflict", func(t *testing.T) {
		b.click("#edit-priority summary")
		b.fill("#priority", "3")
		again := "Once more"
		must(inst.svc.UpdateTask(ctx, inst.maya, tk.ID, task.Patch{Title: &again}))
		b.press("#edit-priority button|Save")
		b.see("Saved the priority")
		equal(t, "priority", inst.task(tk.ID).Priority, 3)
	})
}

func TestLinksAreEditedInTheirTab(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Linked", Resources: []task.Resource{{Type: "url", Value: "https://example.com/a", Label: "A"}}})
	b := inst.tab().withoutScripts()
	b.open(path(tk.ID, ""))
	b.press("#task-tabs a|Links")
	b.expect("422")
	b.click(".edit-link summary")
	b.fill("#value-0", "ftp://x")
	b.press(".edit-link button|Save link")
	b.wait(`document.querySelector("#value-0-err")`)
	equal(t, "typed text", b.value("#value-0"), "ftp://x")
	b.fill("#value-0", "/srv/b")
	b.fill("#label-0", "B")
	b.press(".edit-link button|Save link")
	b.see("/srv/b")
	equal(t, "resource", inst.task(tk.ID).Resources[0], task.Resource{Type: "file", Value: "/srv/b", Label: "B"})
	b.click(".edit-link summary")
	b.press(".edit-link button|Remove")
	equal(t, "resources", len(inst.task(tk.ID).Resources), 0)
}

func TestNeighborsAndAFollowUpByKeyboard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	first := inst.create(task.New{
		Title: "First", Priority: 5, Labels: []string{"api"},
		Resources: []task.Resource{{Type: "url", Value: "https://example.com/keep"}, {Type: "url", Value: "https://example.com/leave"}},
	})
	second := inst.create(task.New{Title: "Second", Priority: 5})
	b := inst.tab()
	b.open(path(first.ID, ""))
	b.see("1 of 2")
	b.loads(typed("]"))
	b.at(path(second.ID, ""))
	b.see("2 of 2")
	b.loads(typed("["))
	b.at(path(first.ID, ""))
	b.click("#task-menu summary")
	b.press("#task-menu button|Complete")
	b.press("a|Create follow-up")
	equal(t, "title", b.value("#title"), "Follow up: First")
	equal(t, "owner", b.value("#owner"), "coder")
	equal(t, "labels", b.value("#labels"), "api")
	b.click(`label|leave`)
	b.press("button|Create task")
	b.see("Follow-up of #" + first.ID.String())
	tk := inst.open()[len(inst.open())-1]
	if tk.Title == "Second" {
		tk = inst.open()[0]
	}
	got := inst.task(tk.ID)
	equal(t, "links", len(got.Resources), 2)
	equal(t, "kept link", got.Resources[1].Value, "https://example.com/keep")
}
