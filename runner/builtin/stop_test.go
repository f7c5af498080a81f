//go:build linux

package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheBuiltinAgentIsStoppedAtAnyMoment(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("%w by user:maya", supervise.ErrCanceled)
	hang := make(chan struct{})
	tests := []struct {
		name  string
		steps []modeltest.Step
		when  string // the event after which it is stopped; "" at the first request
	}{
		{"while the model thinks", []modeltest.Step{{Wait: hang}}, ""},
		{"while it waits for a retry", []modeltest.Step{{Status: 429, After: "60"}}, supervise.EventLog},
		{"while a tool runs", []modeltest.Step{calls("bash", "{}")}, supervise.EventToolCall},
		{"while it writes its summary", []modeltest.Step{{Text: "Done."}, {Wait: hang}}, supervise.EventUsage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, spec := newLoop(t, "anthropic", tt.steps...), newSpec(t)
			spec.Plan.Tools = []string{"bash"}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.when == "" {
				l.ask(t, "anthropic", modeltest.NewFunc(t, func(modeltest.Request) modeltest.Step {
					cancel(cause)
					return tt.steps[0]
				}))
			}
			begin := time.Now()
			out, err := l.Run(ctx, spec, &runnertest.Recorder{OnEvent: func(e supervise.Event) {
				if e.Type == tt.when {
					cancel(cause)
				}
			}})
			testkit.NoError(t, err)
			runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "canceled by user:maya")
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		l := newLoop(t, "openai")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(supervise.ErrTaskClosed)
		out, _ := l.Run(ctx, newSpec(t), &runnertest.Recorder{})
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseTaskClosed, "the task was closed")
	})
	t.Run("if its start cannot be recorded", func(t *testing.T) {
		l, lost := newLoop(t, "openai"), errors.New("stale lease")
		out, err := l.Run(t.Context(), newSpec(t), &runnertest.Recorder{OnStart: func(supervise.Process) error { return lost }})
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "could not be recorded")
		if !errors.Is(err, lost) || len(l.server.Requests()) > 0 {
			t.Errorf("error %v, %d requests", err, len(l.server.Requests()))
		}
	})
}

// slow is a model whose turn is a function.
type slow func(ctx context.Context, on func(model.Delta)) (model.Reply, error)

func (s slow) Turn(ctx context.Context, _ model.Request, on func(model.Delta)) (model.Reply, error) {
	return s(ctx, on)
}

// pass waits, or ends early with the context.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestWhatCountsAsIdle(t *testing.T) {
	t.Parallel()
	done := model.Reply{Text: "Done.", Stop: model.StopEnd}
	limits := task.Limits{IdleTimeoutSeconds: 60, TimeoutSeconds: 3600}
	tests := []struct {
		name string
		slow slow
		want task.Phase
	}{
		{"a model that reasons for a long time, and reports it", func(ctx context.Context, on func(model.Delta)) (model.Reply, error) {
			for range 10 {
				on(model.Delta{Thought: true})
				if err := pass(ctx, 50*time.Second); err != nil {
					return model.Reply{}, err
				}
			}
			return done, nil
		}, task.PhaseEnded},
		{"a wait that the provider asked for", func(ctx context.Context, on func(model.Delta)) (model.Reply, error) {
			on(model.Delta{Again: &model.RetryNotice{Attempt: 2, Wait: 100 * time.Second, Err: &model.Error{Kind: model.KindRate}}})
			return done, pass(ctx, 150*time.Second)
		}, task.PhaseEnded},
		{"but silence after such a wait is idleness", func(ctx context.Context, on func(model.Delta)) (model.Reply, error) {
			on(model.Delta{Again: &model.RetryNotice{Attempt: 2, Wait: 100 * time.Second, Err: &model.Error{Kind: model.KindRate}}})
			return done, pass(ctx, 170*time.Second)
		}, task.PhaseIdle},
		{"and endless text reaches the time limit", func(ctx context.Context, on func(model.Delta)) (model.Reply, error) {
			for {
				on(model.Delta{Text: "and "})
				if err := pass(ctx, 10*time.Second); err != nil {
					return model.Reply{}, err
				}
			}
		}, task.PhaseTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Runner{Provider: "test", Model: tt.slow, DefaultModel: "m"}
				spec := newSpec(t)
				spec.Plan.Limits = limits
				out, err := b.Run(t.Context(), spec, &runnertest.Recorder{})
				if err != nil || out.Phase != tt.want {
					t.Errorf("got %+v, %v", out, err)
				}
			})
		})
	}
}

func TestALongReplyIsRecordedWhileItArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Runner{Provider: "test", DefaultModel: "m", Model: slow(func(ctx context.Context, on func(model.Delta)) (model.Reply, error) {
			for i := range 100 {
				on(model.Delta{Text: fmt.Sprintf("line %d\n", i)})
				if err := pass(ctx, 50*time.Millisecond); err != nil {
					return model.Reply{}, err
				}
			}
			return model.Reply{Text: "Done."}, nil
		})}
		r := &runnertest.Recorder{}
		if _, err := b.Run(t.Context(), newSpec(t), r); err != nil {
			t.Fatal(err)
		}
		texts := r.Texts(supervise.EventText)
		if len(texts) < 4 || len(texts) > 7 || !strings.HasPrefix(texts[1], "line ") || strings.Contains(texts[0], "line 99") {
			t.Errorf("it was recorded in %d events: %q", len(texts), texts)
		}
	})
}

// summing is a sink that is notified when the summary is written.
type summing struct {
	runnertest.Recorder
	at []string // the types of the events before it
}

func (s *summing) Condensing() error {
	s.at = append(s.at, s.Types())
	return nil
}

func TestTheClosingTurnIsAnnounced(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "openai", modeltest.Step{Text: "Done."}, modeltest.Step{Text: "In short."})
	s := &summing{}
	out, err := l.Run(t.Context(), newSpec(t), s)
	if err != nil || out.Summary != "In short." || len(s.at) != 1 || s.at[0] != "text usage" {
		t.Errorf("got %+v, %v, announced after %q", out, err, s.at)
	}
}
