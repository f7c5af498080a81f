package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// TestAProgramWhoseRunIsOverIsNotAskedToStop: it had its time to end by
// itself, and an answer would take what is left of it. One that is deaf is
// killed after a second.
func TestAProgramWhoseRunIsOverIsNotAskedToStop(t *testing.T) {
	t.Parallel()
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &recorder{}
		r.on = func(e Event) {
			if strings.HasPrefix(e.Text, "Session") {
				cancel(ErrLeaseLost)
			}
		}
		out := runWith(t, ctx, fake("say "+fakeInit, "stop"), claudeSpec(t), r)
		wantState(t, out, task.RunCanceled, task.PhaseBy, "nobody takes")
		if said := r.texts(EventText); strings.Contains(strings.Join(said, ""), "interrupt") {
			t.Errorf("it read %q", said)
		}
	})
	t.Run("acp", func(t *testing.T) {
		t.Parallel()
		spec := newSpec(t)
		spec.Plan.Workspace = t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		rec := &recorder{on: func(e Event) {
			if e.Text == "I think." {
				cancel(ErrLeaseLost)
			}
		}}
		begin := time.Now()
		out, err := acpPlays("deaf").Run(ctx, spec, rec)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, out, task.RunCanceled, task.PhaseBy, "nobody takes")
		if took := time.Since(begin); took > defaultGrace {
			t.Errorf("that took %v", took)
		}
		if heard := heardBy(t, spec); strings.Contains(heard, `"session/cancel"`) {
			t.Errorf("heard\n%s", heard)
		}
	})
}
