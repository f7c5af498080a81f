package handlers

import (
	"net/http"
	"testing"
)

func TestAgentPageTellsWhatItsRunnerDoesNotEnforce(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("a runner that enforces less is named with what it lets through", func(t *testing.T) {
		b.get("/agents/coder").is(http.StatusOK).shows("Runner script doesn't enforce everything in this definition.", "Of read, edit it is told")
	})
	t.Run("an agent that nobody starts is held to its tools by nobody", func(t *testing.T) {
		b.get("/agents/pull").is(http.StatusOK).hides("enforces less")
	})
}
