package jobs

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// reportSession reports the conversation of a run, as a runner does.
func (f *manualRun) reportSession(session string) { f.sink.(supervise.SessionKeeper).Session(session) }

func TestAnInterruptedRunContinuesItsConversation(t *testing.T) {
	t.Parallel()
	soon := func(c *service.Config) { c.Backoff = func(int) time.Duration { return 0 } }
	for _, tt := range []struct {
		name string
		cut  func(inst *instance, f *manualRun)
		goes bool
	}{
		{"after a stop", func(inst *instance, _ *manualRun) { inst.end(); inst.start() }, true},
		{"after its server was lost", func(inst *instance, f *manualRun) {
			r := inst.run(f.RunID)
			if err := inst.svc.LoseRun(context.Background(), r, "gone"); err != nil {
				t.Fatal(err)
			}
			f.finish(stoppedOrLost(f))
		}, true},
		{"not after the run itself failed", func(_ *instance, f *manualRun) { f.fail() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inst := newInstance(t, setup{cfg: soon})
			inst.create("coder")
			f := inst.next()
			if f.Session != "" || f.Former != "" {
				t.Errorf("the first run continues from %q in %q", f.Session, f.Former)
			}
			f.reportSession("conversation")
			tt.cut(inst, f)
			again := inst.next()
			if goes := again.Session == "conversation" && again.Former == f.Dir && again.Dir == f.Dir; goes != tt.goes {
				t.Errorf("it continues from %q in %s; the previous folder was %s", again.Session, again.Dir, f.Dir)
			}
			if !tt.goes && (again.Session != "" || again.Former != "" || again.Dir == f.Dir || filepath.Dir(again.Dir) != filepath.Dir(f.Dir)) {
				t.Errorf("it starts over with %q from %q in %s", again.Session, again.Former, again.Dir)
			}
			again.complete()
			inst.awaitRun(again.RunID, "completed/ended")
		})
	}
}

// stoppedOrLost returns the outcome of a run whose state was changed elsewhere.
func stoppedOrLost(f *manualRun) supervise.Outcome {
	if f.ctx.Err() != nil {
		return stoppedBy(f)
	}
	return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "too late"}
}
