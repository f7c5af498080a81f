package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// onPaper shows the page as it is printed.
func (b *tab) onPaper() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	ok(b.t, err)
}

// TestPrintedPages checks that printed pages have no buttons and no tables of closed
// disclosures, which would cover the content below, but have exact times.
func TestPrintedPages(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	b.size(760, 900)
	for _, path := range []string{path(s.limiter, ""), "/history", "/tasks", "/runs/" + s.completed.String()} {
		b.open(path)
		b.onPaper()
		shown := func(sel, more string) string {
			return "[...document.querySelectorAll(" + quote(sel) + ")].filter(e => e.checkVisibility()" + more + ").map(e => e.outerHTML)"
		}
		for what, js := range map[string]string{
			"a control":      shown("button, .btn, select, .search, nav.side", ""),
			"a closed table": shown("details:is(.data, .spark-data):not([open]) table", ""),
			"a vague time": shown("time[data-rel]",
				` && !(getComputedStyle(e).fontSize === "0px" && getComputedStyle(e, "::after").content.includes(":"))`),
		} {
			if got := eval[[]string](b, js); len(got) > 0 {
				t.Errorf("printed, %s shows %s: %.300q", path, what, got)
			}
		}
	}
}
