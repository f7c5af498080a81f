//go:build linux

package acp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/task"
)

func TestAMessageBeginsTheNextTurn(t *testing.T) {
	t.Parallel()
	in := runnertest.NewInbox("use tabs", "and a test")
	spec := runnertest.NewSpec(t)
	spec.Inbox = in.Spec()
	out, _ := runnertest.Run(t, agent("reason:end_turn"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Summary != "All done." || out.Usage.TokensIn != 60 || !slices.Equal(in.Delivered(), []string{"use tabs", "and a test"}) {
		t.Errorf("outcome %+v, delivered %q", out, in.Delivered())
	}
	heard, err := os.ReadFile(filepath.Join(spec.Dir, "work", "heard"))
	if err != nil || strings.Count(string(heard), "session/prompt") != 2 || !strings.Contains(string(heard),
		`Message from Ann, a person who follows this run:\n\nuse tabs`) {
		t.Errorf("it heard %s, %v", heard, err)
	}
	t.Run("but not of an agent that gave up", func(t *testing.T) {
		t.Parallel()
		in := runnertest.NewInbox("use tabs")
		spec := runnertest.NewSpec(t)
		spec.Inbox = in.Spec()
		out, _ := runnertest.Run(t, agent("reason:refusal"), spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "refused")
		if got := in.Delivered(); len(got) != 0 {
			t.Errorf("delivered %q", got)
		}
	})
}
