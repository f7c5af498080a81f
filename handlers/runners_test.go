package handlers

import (
	"net/http"
	"testing"
)

func TestTheAgentPageShowsWhatItsRunnerDoesNotEnforce(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("a runner that enforces less is named with what it allows", func(t *testing.T) {
		b.get("/agents/coder").is(http.StatusOK).shows("Runner script doesn't enforce everything in this definition.",
			"It is told to use only read, edit")
	})
	t.Run("nothing enforces the tools of a pull-only agent", func(t *testing.T) {
		b.get("/agents/pull").is(http.StatusOK).hides("enforces less")
	})
}
