package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTextOfDoubleSize checks that controls grow with their text, for people who
// enlarge only the text.
func TestTextOfDoubleSize(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	for _, path := range []string{"/tasks", "/queues", path(s.limiter, "")} {
		b.open(path)
		eval[chromedp.Void](b, `void document.documentElement.style.setProperty("font-size", "200%", "important")`)
		b.wait(`getComputedStyle(document.documentElement).fontSize === "32px"`)
		const cut = `[...document.querySelectorAll(".chip, .avatar, .segmented a, .nav a, .find")].filter(e => e.checkVisibility() &&
			e.getBoundingClientRect().height < parseFloat(getComputedStyle(e).fontSize) * 1.2).map(e => e.outerHTML)`
		if got := eval[[]string](b, cut); len(got) > 0 {
			t.Errorf("%s cuts large text: %.300q", path, got)
		}
	}
}
