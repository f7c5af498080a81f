package browser

import (
	"fmt"
	"testing"

	"taskyard/task"
)

func TestAFilterAppliesWhenItIsChanged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.create(task.New{Title: "Of the coder", Priority: 7})
	inst.create(task.New{Title: "Of the scout", Owner: "scout"})
	b := inst.tab()
	b.open("/queues")
	address := func() string { return eval[string](b, `location.pathname + location.search`) }
	t.Run("by mouse", func(t *testing.T) {
		b.open("/tasks")
		equal(t, "the button is visible", eval[bool](b, `document.querySelector("#filter > button").checkVisibility()`), false)
		b.click("h1")
		b.choose(".filters [name=agent]", "scout")
		b.wait(`location.search === "?agent=scout"`)
		b.see("Of the scout")
		b.seeNot("Of the coder")
		b.wait(`document.activeElement.textContent.trim().replace(/\s+/g, " ") === "scoutremove filter"`) // the script runs later
	})
	t.Run("the other view of tasks keeps it", func(t *testing.T) {
		b.press(".segmented a|Board")
		b.wait(`location.pathname === "/queues"`)
		equal(t, "address", address(), "/queues?agent=scout")
		b.press(".segmented a|List")
		b.wait(`location.pathname === "/tasks"`)
		equal(t, "address", address(), "/tasks?agent=scout")
	})
	t.Run("by keys, after a pause", func(t *testing.T) {
		b.open("/tasks")
		b.do(typed("j"))
		b.choose(".filters [name=priority]", "1")
		b.choose(".filters [name=priority]", "6")
		b.wait(`location.search === "?priority=6"`)
		b.see("Of the coder")
		b.seeNot("Of the scout")
	})
	t.Run("times", func(t *testing.T) {
		for _, path := range []string{"/history", "/runs"} {
			b.open(path)
			b.click("h1")
			b.choose(".filters [name=since]", "7d")
			b.wait(`location.search === "?since=7d"`)
			b.see("Last 7 days")
		}
	})
	t.Run("not while a date is incomplete", func(t *testing.T) {
		b.open("/history")
		b.click("h1")
		day := func(value string) {
			b.wait(`(f => { f.value = "` + value + `"; f.dispatchEvent(new Event("change", { bubbles: true })); return true; })(document.querySelector("[name=from]"))`)
		}
		day("0020-11-01")
		day("2020-11-01")
		b.wait(`location.search === "?from=2020-11-01"`)
	})
	t.Run("without scripts, by its button", func(t *testing.T) {
		b := inst.tab().withoutScripts()
		b.open("/tasks")
		b.choose(".filters [name=agent]", "scout")
		b.press(".filters button|Filter")
		b.see("Of the scout")
		b.seeNot("Of the coder")
	})
}

func TestAViewWithATakenNameIsNamedAgainInItsMenu(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	must(inst.svc.SaveView(ctx, inst.maya, "Mine", "/tasks"))
	inst.create(task.New{Title: "Polish the lamp"})
	for _, scripted := range []bool{true, false} {
		for _, list := range []string{"/tasks", "/queues"} {
			b := inst.tab()
			if !scripted {
				b.withoutScripts()
			}
			b.expect("409")
			b.size(390, 844)
			b.open(list + "?q=lamp")
			b.click("#views summary")
			b.fill("#views input[name=name]", "mine")
			b.press("#views button|Save")
			b.see("You already have a view of this name.")
			b.focused(`e.matches("#views input") && e.value === "mine"`)
			b.see("Polish the lamp")
			b.fill("#views input[name=name]", fmt.Sprintf("Lamp %s %v", list, scripted))
			b.press("#views button|Save")
			b.see("Saved the view Lamp")
			b.wait(`location.pathname + location.search === ` + quote(list+"?q=lamp"))
		}
	}
}
