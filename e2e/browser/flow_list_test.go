package browser

import (
	"fmt"
	"testing"

	"taskyard/task"
)

func TestActOnAllThatMatch(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for i := range 130 {
		inst.create(task.New{Title: fmt.Sprintf("Many of them %d", i), Labels: []string{"spring"}})
	}
	keep := inst.create(task.New{Title: "Not this one"})
	b := inst.tab()
	b.open("/tasks?label=spring")
	b.click("[data-pick-all]")
	b.see("100 selected")
	b.click("#bulk label|Select all 130 that match")
	b.see("All that match")
	b.press("#bulk button|Priority…")
	b.see("Set the priority of 130 tasks")
	b.see("and 30 more")
	b.fill("#priority", "7")
	b.loads(b.onto("form.form button", times(3)))
	b.see("Set the priority of 130 tasks")
	equal(t, "address", eval[string](b, `location.pathname + location.search`), "/tasks?label=spring")
	seven := 0
	for _, tk := range inst.open() {
		if tk.Priority == 7 {
			seven++
		}
	}
	equal(t, "of the first 100", seven, 100)
	equal(t, "the other", inst.priority(keep.ID), 0)
}

func TestSortAndFilterAList(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for i, title := range []string{"Birch", "ash", "Cedar"} {
		inst.create(task.New{Title: title, Priority: i})
	}
	b := inst.tab()
	b.open("/tasks")
	first := `document.querySelector("tbody .title").textContent`
	equal(t, "first", eval[string](b, first), "Cedar")
	b.press("th a|Title")
	equal(t, "first by title", eval[string](b, first), "ash")
	equal(t, "order", eval[string](b, `document.querySelector("th[aria-sort]").getAttribute("aria-sort")`), "ascending")
	b.press("th a|Title")
	equal(t, "last by title", eval[string](b, first), "Cedar")
	b.choose("select[name=priority]", "1")
	b.wait(`location.search === "?sort=-title&priority=1"`)
	equal(t, "address", eval[string](b, `location.search`), "?sort=-title&priority=1")
	b.seeNot("Birch")
	b.press("a.chip.active|Priority at least 1")
	b.see("Birch")
}

func TestKeepAView(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.create(task.New{Title: "Mine", Priority: 3})
	b := inst.tab()
	b.open("/tasks?priority=3&sort=title")
	b.click("#views summary")
	b.fill("#views input[name=name]", "Hot ones")
	b.press("#views button|Save")
	b.see("Saved the view Hot ones")
	b.press("#nav a|Hot ones")
	equal(t, "address", eval[string](b, `location.pathname + location.search`), "/tasks?priority=3&sort=title")
	b.open("/views")
	b.fill("#v-1", "Hotter")
	b.press("button|Rename")
	b.see("The view is now called Hotter")
	b.press("button|Delete")
	b.see("No views yet")
}
