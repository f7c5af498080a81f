package browser

import (
	"testing"

	"taskyard/internal/testkit"
)

// plainPaths are pages with their own controls.
func (s *sample) plainPaths() []string {
	return []string{
		"/", "/queues", "/tasks", path(s.limiter, ""), path(s.question, ""), "/approvals/" +
			s.approval.String(), "/approvals/" + s.running.String(),
		"/runs/" + s.running.String(), "/history", "/insights", "/agents/coder", "/agents/coder/edit",
		"/scheduler", "/settings/tokens", "/settings/appearance", "/api/docs",
	}
}

func TestEveryControlOfAPageWorks(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	t.Run("no button that is visible without scripts needs scripts", func(t *testing.T) {
		b := s.tab().withoutScripts()
		for _, p := range testkit.Sample(7, s.plainPaths()) {
			b.open(p)
			if dead := eval[string](b, `[...document.querySelectorAll("button[type=button]")].filter(e => e.checkVisibility()).map(e => e.getAttribute("aria-label") || e.textContent.trim()).join(", ")`); dead != "" {
				t.Errorf("%s: %s", p, dead)
			}
		}
	})
	t.Run("no button is outside a window of 320 pixels", func(t *testing.T) {
		b := s.tab()
		b.size(320, 700)
		for _, p := range testkit.Sample(7, s.plainPaths()) {
			b.open(p)
			if out := eval[string](b, `[...document.querySelectorAll(".bar, .decide")].flatMap(e => [...e.querySelectorAll("a, button, summary")]).filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth).map(e => e.textContent.trim()).join(", ")`); out != "" {
				t.Errorf("%s: %s", p, out)
			}
		}
	})
}
