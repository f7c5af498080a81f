package browser

import (
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// newTaskByForm is a basic flow, with and without JavaScript.
func newTaskByForm(b *tab) {
	b.t.Helper()
	b.open("/tasks/new")
	b.fill("#title", "Fix the gate")
	b.fill("#description", "It squeaks.")
	b.choose("#owner", "coder")
	b.fill("#priority", "7")
	b.fill("#steps", "Look at it\nOil it\n"+strings.Repeat("too long ", 9))
	b.fill("#links", "https://example.com/gate The gate")
	b.expect("422")
	b.press("button|Create task")
	for sel, want := range map[string]string{
		"#title": "Fix the gate", "#description": "It squeaks.",
		"#owner": "coder", "#priority": "7", "#links": "https://example.com/gate The gate",
	} {
		equal(b.t, sel, b.value(sel), want)
	}
	b.fill("#steps", "Look at it\nOil it")
	b.press("button|Create task")
	b.see("Fix the gate")
}

func TestCreateATaskWithStepsAndALink(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	newTaskByForm(b)
	list := inst.open()
	equal(t, "tasks", len(list), 1)
	tk := inst.task(list[0].ID)
	equal(t, "steps", len(tk.Steps), 2)
	equal(t, "links", len(tk.Resources), 1)
	equal(t, "priority", tk.Priority, 7)
	b.open(path(tk.ID, ""))
	b.see("Look at it")
	b.see("The gate")
}

func TestCommentAndAnswerAQuestion(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Ask me", Owner: "scout"})
	scout := task.Actor{Name: "scout", Role: task.RoleAgent}
	must(inst.svc.Ask(ctx, scout, tk.ID, "North or south?", false))
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.see("North or south?")
	b.fill("#comment", "A **bold** word.")
	b.press("#comment-form button")
	b.wait(`document.querySelector("#feed .markdown strong")?.textContent === "bold"`)
	equal(t, "composer", b.value("#comment"), "")
	b.fill("#reply-text", "South.")
	b.press("button|Answer")
	b.see("South.")
	b.wait(`!document.querySelector("#reply-text")`)
	equal(t, "open question", inst.task(tk.ID).QuestionID, 0)
}

func TestCancelWithSubtasksNamesThem(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "The whole", Steps: []task.Step{{Title: "A part"}}})
	sub := must(inst.svc.CreateSubtask(ctx, inst.maya, tk.ID, 0, task.New{Title: "The part", Owner: "scout", NoStart: true}))
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.click("#task-menu summary")
	b.press("#task-menu a|Cancel task")
	b.see("1 subtask goes with it")
	b.see("The part")
	b.press("button|Cancel")
	b.see("Canceled #" + tk.ID.String() + " and 1 subtask")
	equal(t, "subtask", inst.task(sub.ID).Status, task.Canceled)
	b.press("a|Create follow-up")
	b.see("Follow-up of")
}

func TestChangesByOthersAppearAndTypedTextStays(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watched", Steps: []task.Step{{Title: "Only step"}}})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	b.click("#comment")
	b.insert("half a thou")
	done := true
	must(inst.svc.UpdateStep(ctx, inst.maya, tk.ID, 0, task.StepPatch{Done: &done}))
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Somebody else says hello."))
	b.wait(`document.querySelector("#step-0.done")`)
	b.see("Somebody else says hello.")
	equal(t, "composer", b.value("#comment"), "half a thou")
	equal(t, "focus", eval[string](b, `document.activeElement.id`), "comment")
	b.click("h1")
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "And again."))
	b.see("And again.")
	equal(t, "composer without focus", b.value("#comment"), "half a thou")

	b.open("/queues")
	b.live()
	other := inst.create(task.New{Title: "Just came in"})
	b.see("Just came in")
	must(inst.svc.CompleteTask(ctx, inst.maya, other.ID, "", 0))
	b.wait(`!document.body.innerText.includes("Just came in")`)
}

func TestHostileTextsAreShownAsText(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	hostile := `<script>alert(1)</script><img src=x onerror=alert(2)>` + "\u202egnp.exe\u202c"
	tk := inst.create(task.New{
		Title: hostile, Description: hostile + "\n\n[click](javascript:alert(3)) <svg onload=alert(4)> ![x](https://example.com/x.png)",
		Steps:     []task.Step{{Title: `"><img src=x onerror=alert(5)>`}},
		Resources: []task.Resource{{Type: "url", Value: "https://example.com/?<script>", Label: hostile}},
	})
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, hostile+" <javascript:alert(6)> [a](data:text/html,<script>alert(7)</script>)"))
	b := inst.tab()
	for _, p := range testkit.Sample(3, []string{
		"/queues", "/tasks", path(tk.ID, ""), path(tk.ID, "/edit"), path(tk.ID, "/move"),
		path(tk.ID, "/steps/0/edit"), path(tk.ID, "/cancel"), "/tasks?q=%3Cscript%3Ealert(1)%3C/script%3E",
	}) {
		b.open(p)
		equal(t, "injected elements of "+p, eval[int](b,
			`document.querySelectorAll("[onerror],[onload],main script:not([src]),main img,a[href^='javascript'],a[href^='data']").length`), 0)
	}
	b.open(path(tk.ID, ""))
	b.see("<script>alert(1)</script>")
}
