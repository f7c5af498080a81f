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

func (f *manualRun) reportUsage(tokens string) {
	f.sink.Event(supervise.Event{Type: supervise.EventUsage, Data: json.RawMessage(`{"tokensIn":` + tokens + `}`)})
}

func TestTheUsageOfARunIsKnownWhileItRuns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{agents: map[string]string{"coder": "max_tokens: 1000"}})
	inst.create("coder")
	f := inst.next()
	f.reportUsage("400")
	testkit.EventuallyWithin(inst.t, patience, "the usage is stored", func() bool { return inst.run(f.RunID).Usage.TokensIn == 400 })
	f.reportUsage("601")
	t.Run("above its limit the run fails and its program is stopped", func(t *testing.T) {
		r := inst.awaitRun(f.RunID, "failed/tokens")
		if r.Reason != "It used 1001 tokens of at most 1000" {
			t.Errorf("got reason %q", r.Reason)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(patience):
			t.Fatal("the program was not stopped")
		}
		if cause := context.Cause(f.ctx); !errors.Is(cause, supervise.ErrCanceled) {
			t.Errorf("stopped by %v", cause)
		}
	})
	t.Run("the program's own outcome is ignored", func(t *testing.T) {
		f.finish(supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: "done"})
		testkit.EventuallyWithin(inst.t, patience, "the run is finished", func() bool { return len(inst.busy()) == 0 })
		if r := inst.run(f.RunID); r.State().String() != "failed/tokens" {
			t.Errorf("got %s", r.State())
		}
	})
}
