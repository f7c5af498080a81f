//go:build linux

package acp

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// The program had time to end by itself, and an answer would use up the rest. A
// program that ignores signals is killed after a second.
func TestAProgramWhoseRunIsOverIsNotAskedToStop(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Workspace = t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	rec := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
		if e.Text == "I think." {
			cancel(supervise.ErrLeaseLost)
		}
	}}
	begin := time.Now()
	out, err := agent("deaf").Run(ctx, spec, rec)
	testkit.NoError(t, err)
	runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "its lease was lost")
	if took := time.Since(begin); took > supervise.DefaultGrace {
		t.Errorf("it took %v", took)
	}
	if input := received(t, spec); strings.Contains(input, `"session/cancel"`) {
		t.Errorf("heard\n%s", input)
	}
}
