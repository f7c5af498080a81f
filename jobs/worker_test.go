package jobs

import (
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

var gpuBox = task.Actor{Name: "worker:box", Role: task.RoleWorker, TokenID: 1}

func byWorkers(string) service.Runner { return service.Runner{Worker: true} }

// TestRunsOfWorkersKeepTheirLeaseAcrossARestart restarts a server while a worker executes a
// run.
func TestRunsOfWorkersKeepTheirLeaseAcrossARestart(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{cfg: func(c *service.Config) {
		c.Runner, c.RunLease = byWorkers, 300*time.Millisecond
	}, stopped: true})
	tk := inst.create("coder")
	l, err := inst.svc.LeaseRun(t.Context(), gpuBox, task.WorkerAsk{})
	if err != nil || l == nil {
		t.Fatalf("got lease %v, %v", l, err)
	}
	hold := task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}
	inst.start()
	if got := inst.run(l.RunID).Status; got != task.RunRunning {
		t.Fatalf("after the start: got %s", got)
	}
	if _, err := inst.svc.ReportAlive(t.Context(), gpuBox, l.RunID, hold, false, 0); err != nil {
		t.Fatalf("heartbeat after the start: %v", err)
	}
	testkit.EventuallyWithin(inst.t, patience, "the run is lost when its heartbeats stop", func() bool {
		if err := inst.jobs.RunJob("reaper"); err != nil {
			t.Fatal(err)
		}
		return inst.run(l.RunID).State().String() == "failed/lost"
	})
	again, err := inst.svc.LeaseRun(t.Context(), gpuBox, task.WorkerAsk{})
	if err != nil || again == nil || again.TaskID != tk.ID || again.RunID == l.RunID || again.Attempt != 2 {
		t.Fatalf("got lease %+v, %v", again, err)
	}
	if err := inst.svc.ReportEnd(t.Context(), gpuBox, l.RunID, hold,
		service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}}); !task.IsCode(err, task.CodeStaleLease) {
		t.Errorf("end of the lost run: got %v", err)
	}
}

func TestASuspendedServerDoesNotExpireLeasesOfWorkers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{cfg: func(c *service.Config) { c.Runner = byWorkers }, stopped: true})
	inst.create("coder")
	l, err := inst.svc.LeaseRun(t.Context(), gpuBox, task.WorkerAsk{})
	if err != nil || l == nil {
		t.Fatalf("got lease %v, %v", l, err)
	}
	inst.start()
	if err := inst.svc.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	inst.clock.Forward(8 * time.Hour)
	for range 3 {
		if err := inst.jobs.endExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := inst.svc.ReleaseExpired(t.Context()); n != 0 || err != nil {
			t.Fatalf("got %d released claims, %v", n, err)
		}
	}
	if got := inst.run(l.RunID).Status; got != task.RunRunning {
		t.Errorf("got %s", got)
	}
}
