package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestWhatHasTheFocusIsNotBelowABar(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	covered := `(e => {
		const r = e.getBoundingClientRect(), middle = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2;
		const top = document.elementFromPoint(middle(r.left, r.right, innerWidth), middle(r.top, r.bottom, innerHeight));
		return e === document.body || top && (e.contains(top) || top.contains(e)) ? "" : e.outerHTML.slice(0, 200);
	})(document.activeElement)`
	walk := func(steps int) {
		t.Helper()
		for range steps {
			b.keys(kb.Tab)
			if v := eval[string](b, covered); v != "" {
				b.fatalf("cannot be seen: %s", v)
			}
		}
	}
	b.open("/queues")
	b.keys("c")
	b.focused(`e.id === "new-title"`)
	walk(10)
	b.size(390, 844)
	for _, page := range []string{"/tasks", "/scheduler", "/approvals/" + s.approval.String()} {
		b.open(page)
		walk(40)
	}
}
