package jobs

import (
	"log/slog"
	"strings"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// refuseEnds makes the database reject the ends of runs until fixed is called.
func (inst *instance) refuseEnds() (fixed func()) {
	inst.t.Helper()
	return dbtest.Refuse(inst.t, inst.db, "UPDATE OF ended_at ON runs", "", "no end today")
}

func TestTheEndOfARunIsStoredAsSoonAsPossible(t *testing.T) {
	t.Parallel()
	log := &testkit.Buffer{}
	inst := newInstance(t, setup{jobs: func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }})
	tk := inst.create("coder")
	f := inst.next()
	fixed := inst.refuseEnds()
	f.complete()
	testkit.EventuallyWithin(inst.t, patience, "the server logs that it cannot store the end", func() bool {
		return strings.Contains(log.String(), "failed to store the end of the run")
	})
	r := inst.run(f.RunID)
	if got := r.State().String(); got != "running/working" {
		t.Fatalf("got %s", got)
	}
	if err := inst.jobs.reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyWithin(inst.t, patience, "the lease is renewed meanwhile", func() bool {
		return inst.run(f.RunID).HeartbeatAt > r.HeartbeatAt
	})
	fixed()
	r = inst.awaitRun(f.RunID, "completed/ended")
	if r.Summary != "done" {
		t.Errorf("got summary %q, want done", r.Summary)
	}
	if list, err := inst.svc.Runs(t.Context(), maya, task.RunFilter{TaskID: tk.ID, Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("got %d runs, %v; want 1", len(list), err)
	}
}
