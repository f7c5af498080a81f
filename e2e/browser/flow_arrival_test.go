package browser

import (
	"fmt"
	"testing"

	"taskyard/task"
)

// TestColumnsStayWhereTheyWereDrawn shows a board that has arrived only in part: its
// columns are already as wide as when the rest has arrived.
func TestColumnsStayWhereTheyWereDrawn(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{2, 5, 11} {
		files := map[string]string{}
		for i := range agents {
			files[fmt.Sprintf("agent-%02d", i)] = "---\ndescription: Works.\ntools: read\nrunner: none\n---\nWork.\n"
		}
		inst := newInstanceWith(t, files)
		for i := range agents {
			inst.create(task.New{Title: "A task", Owner: fmt.Sprintf("agent-%02d", i)})
		}
		b := inst.tab()
		b.open("/queues")
		const width = `document.querySelector(".board > :first-child").getBoundingClientRect().width`
		want := eval[float64](b, width)
		eval[int](b, `[...document.querySelectorAll(".board > :not(:first-child)")].map(c => c.remove()).length`)
		equal(t, fmt.Sprintf("width of the first of %d columns while it is the only one", agents), eval[float64](b, width), want)
	}
}

// TestAPageNeedsFewFiles limits what a first-time visitor's browser loads before it
// can use the board: 1.2 s over 400 kbit/s.
func TestAPageNeedsFewFiles(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/queues")
	b.live()
	loaded := eval[struct {
		Files, Bytes int
		Early        []string
	}](b, `(() => {
  const all = performance.getEntriesByType("resource").filter(r => new URL(r.name).pathname.startsWith("/static/"));
  const needed = all.filter(r => !r.name.includes(".woff2"));
  return {
    Files: needed.length, Bytes: needed.reduce((n, r) => n + r.transferSize, 0),
    Early: all.filter(r => r.name.includes(".woff2") && r.initiatorType !== "css").map(r => r.name),
  };
})()`)
	if loaded.Files > 9 || loaded.Bytes > 62_000 {
		t.Errorf("got %d files of %d bytes for the board, want at most 9 of 62,000", loaded.Files, loaded.Bytes)
	}
	if len(loaded.Early) > 0 {
		t.Errorf("%v delays the style sheet", loaded.Early)
	}
}
