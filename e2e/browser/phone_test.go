package browser

import (
	"testing"

	"taskyard/task"
)

// inSight reports whether the current item is completely visible in strips that scroll
// horizontally.
const inSight = `[...document.querySelectorAll(":is(.tabs, .docs-toc, .list > nav) [aria-current]")].filter(a => a.offsetParent).every(a => {
	const r = a.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })`

func TestTheCurrentItemIsVisibleOnAPhone(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	b.size(390, 844)
	for _, path := range []string{"/approvals/" + s.approval.String(), "/tasks/" + s.ship.String() + "?tab=subtasks", "/docs/testing"} {
		b.open(path)
		b.wait(`document.querySelector(":is(.tabs, .docs-toc, .list > nav) [aria-current]") && ` + inSight)
	}
}

func TestThePillOfATaskLeadsToTheReasons(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	b.size(390, 844)
	b.open("/tasks/" + s.waits.String())
	b.click("#task-bar a.pill|Waiting for you")
	b.wait(`(y => y > 50 && y < 844)(document.querySelector("#why-h").getBoundingClientRect().top)`)
}

func TestTheMainActOnATaskIsVisibleOnAPhone(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Run by thumb", Owner: "keeper"})
	b := inst.tab()
	b.size(390, 844)
	b.open(path(tk.ID, ""))
	b.press("#task-bar button|Run now")
	b.press("#task-bar a|Review run")
	b.at("/approvals/1")
}
