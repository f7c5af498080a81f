package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func (f *flight) uses(tokens string) {
	f.sink.Event(supervise.Event{Type: supervise.EventUsage, Data: json.RawMessage(`{"tokensIn":` + tokens + `}`)})
}

func TestTheUseOfARunIsKnownWhileItRuns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{agents: map[string]string{"coder": "max_tokens: 1000"}})
	inst.create("coder")
	f := inst.next()
	f.uses("400")
	testkit.EventuallyWithin(inst.t, patience, "its use is in its row", func() bool { return inst.run(f.RunID).Usage.TokensIn == 400 })
	f.uses("601")
	t.Run("over its limit it fails and its program is stopped", func(t *testing.T) {
		r := inst.awaitRun(f.RunID, "failed/tokens")
		if r.Reason != "It used 1001 tokens of at most 1000" {
			t.Errorf("reason %q", r.Reason)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(patience):
			t.Fatal("the program continues")
		}
		if cause := context.Cause(f.ctx); !errors.Is(cause, supervise.ErrCanceled) {
			t.Errorf("stopped for %v", cause)
		}
	})
	t.Run("how its program then ended changes nothing", func(t *testing.T) {
		f.land(supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: "done"})
		testkit.EventuallyWithin(inst.t, patience, "it is gone", func() bool { return len(inst.busy()) == 0 })
		if r := inst.run(f.RunID); r.State().String() != "failed/tokens" {
			t.Errorf("%s", r.State())
		}
	})
}
