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

// talks has a flight tell its conversation, as its runner does.
func (f *flight) talks(session string) { f.sink.(supervise.SessionKeeper).Session(session) }

func TestARunThatWasCutGoesOnInItsConversation(t *testing.T) {
	t.Parallel()
	soon := func(c *service.Config) { c.Backoff = func(int) time.Duration { return 0 } }
	for _, tt := range []struct {
		name string
		cut  func(inst *instance, f *flight)
		goes bool
	}{
		{"after a stop", func(inst *instance, _ *flight) { inst.end(); inst.start() }, true},
		{"when its server was lost", func(inst *instance, f *flight) {
			r := inst.run(f.RunID)
			if err := inst.svc.LoseRun(context.Background(), r, "gone"); err != nil {
				t.Fatal(err)
			}
			f.land(stoppedOr(f))
		}, true},
		{"not after a failure of its own", func(_ *instance, f *flight) { f.fail() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inst := newInstance(t, setup{cfg: soon})
			inst.create("coder")
			f := inst.next()
			if f.Session != "" || f.Former != "" {
				t.Errorf("the first continues from %q in %q", f.Session, f.Former)
			}
			f.talks("conversation")
			tt.cut(inst, f)
			again := inst.next()
			if goes := again.Session == "conversation" && again.Former == f.Dir && again.Dir == f.Dir; goes != tt.goes {
				t.Errorf("it continues from %q in %s; before it was in %s", again.Session, again.Dir, f.Dir)
			}
			if !tt.goes && (again.Session != "" || again.Former != "" || again.Dir == f.Dir || filepath.Dir(again.Dir) != filepath.Dir(f.Dir)) {
				t.Errorf("it starts over with %q from %q in %s", again.Session, again.Former, again.Dir)
			}
			again.complete()
			inst.awaitRun(again.RunID, "completed/ended")
		})
	}
}

// stoppedOr is how a flight ends whose run was ended behind its back.
func stoppedOr(f *flight) supervise.Outcome {
	if f.ctx.Err() != nil {
		return stoppedBy(f)
	}
	return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "too late"}
}
