//go:build linux

package claude

import (
	"context"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// The program had time to end by itself, and an answer would use up the rest. A
// program that ignores signals is killed after a second.
func TestAProgramWhoseRunIsOverIsNotAskedToStop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &runnertest.Recorder{}
	r.OnEvent = func(e supervise.Event) {
		if strings.HasPrefix(e.Text, "Session") {
			cancel(supervise.ErrLeaseLost)
		}
	}
	out := runnertest.RunWith(t, ctx, fake("say "+fakeInit, "stop"), claudeSpec(t), r)
	runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "its lease was lost")
	if said := r.Texts(supervise.EventText); strings.Contains(strings.Join(said, ""), "interrupt") {
		t.Errorf("the program read %q", said)
	}
}
