package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

// findAndFollow searches the history for the text of an agent, opens the line, and
// creates a follow-up of the task.
func findAndFollow(s *sample, b *tab) {
	t := s.t
	ok(t, s.svc.Index(ctx))
	b.open("/history")
	b.fill(".filters [name=q]", "no limit yet")
	b.loads(typed(kb.Enter))
	b.see("in run 5's transcript")
	equal(t, "marked", b.text("mark"), "no")
	b.press("a|in run 5's transcript")
	b.wait(`location.pathname === "/runs/5" && /^#m\d+$/.test(location.hash)`)
	b.wait(`document.querySelector(location.hash).textContent.includes("no limit yet")`)
	b.open("/history?q=no+limit+yet&agent=coder")
	b.gone("Answer the security mail")
	b.press(".filters a|coder")
	b.see("Answer the security mail")
	b.press(`[aria-label="Create follow-up of task 5"]`)
	b.at("/tasks/new")
	b.fill("#title", "Answer it once more")
	b.choose("#owner", "reviewer")
	b.press("button|Create task")
	b.see("Answer it once more")
}

func TestSearchMatchFollow(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	findAndFollow(s, s.tab())
}

func TestSearchMatchFollowWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := newTab(t, s.url).withoutScripts()
	s.signIn(b)
	findAndFollow(s, b)
}

func TestBarsFilterByMouseAndByKeys(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	s.clock.Behind(40 * 24 * time.Hour)
	old := s.create(task.New{Title: "Dig the well", Owner: "coder"})
	must(s.svc.CompleteTask(ctx, s.maya, old.ID, "", 0))
	s.clock.Behind(0)
	b.open("/history")
	b.see("Dig the well")
	b.press(".chart-svg .fill-off")
	b.wait(`location.search.includes("status=canceled") && location.search.includes("from=")`)
	b.gone("Dig the well")
	b.see("Try the other queue library")
	b.open("/history")
	b.press(".chart-svg .fill-bad")
	b.wait(`location.pathname === "/runs" && location.search.includes("status=failed")`)
	b.see("Lint pass over internal/web")
	b.open("/history")
	b.click("summary|Show data")
	b.loads(typed("\t\t\t\r")) // past the region and the first days, to the first link
	b.wait(`location.search.includes("from=")`)
}

func TestKeySequencesOpenPages(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	b.open("/")
	for _, to := range [][2]string{{"gn", "/insights"}, {"gh", "/history"}, {"gq", "/queues"}} {
		b.loads(typed(to[0]))
		b.at(to[1])
	}
	b.keys("n")
	b.at("/queues")
}
