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
		t.Errorf("got outcome %+v, delivered %q", out, in.Delivered())
	}
	input, err := os.ReadFile(filepath.Join(spec.Dir, "work", "heard"))
	if err != nil || strings.Count(string(input), "session/prompt") != 2 || !strings.Contains(string(input),
		`Message from Ann, a person who follows this run:\n\nuse tabs`) {
		t.Errorf("the agent read %s, %v", input, err)
	}
	t.Run("but not after a failed turn", func(t *testing.T) {
		t.Parallel()
		in := runnertest.NewInbox("use tabs")
		spec := runnertest.NewSpec(t)
		spec.Inbox = in.Spec()
		out, _ := runnertest.Run(t, agent("reason:refusal"), spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "refused")
		if got := in.Delivered(); len(got) != 0 {
			t.Errorf("delivered %q, want nothing", got)
		}
	})
}
