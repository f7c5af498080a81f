package service

import (
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestWaitsForDelegatedRunsAreKnown(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	tk, st, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	child := inst.start()
	waits, changed := inst.s.RunWaits(inst.ctx(), st.Run.ID)
	equal(t, "before", waits, false)
	got := make(chan task.Delegated, 2)
	for range 2 { // two calls at once count as one wait
		go func() {
			v, err := inst.s.DelegatedRun(inst.ctx(), own, d.RunID, task.MaxWait)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
	}
	<-changed
	waits, changed = inst.s.RunWaits(inst.ctx(), st.Run.ID)
	equal(t, "meanwhile", waits, true)
	inst.Forward(time.Minute)
	inst.finish(child, completed("found"))
	for range 2 {
		equal(t, "result", (<-got).Summary, "found")
	}
	<-changed
	waits, _ = inst.s.RunWaits(inst.ctx(), st.Run.ID)
	equal(t, "afterwards", waits, false)
	testkit.Eventually(t, "the minute is recorded", func() bool { return inst.run(st.Run.ID).WaitedMs >= 60_000 })
	equal(t, "task", inst.task(tk.ID).Status, task.Active)
}

func TestAnApprovalOutlivesTheFailedRunThatRequestedIt(t *testing.T) {
	t.Parallel()
	inst := delegating(t, wakes, func(c *Config) { c.Policy, c.Attempts = task.ApproveDelegated, 1 })
	tk, st, own := inst.inRun("boss")
	waiting := inst.delegate(own, task.Delegation{})
	running := inst.delegate(own, task.Delegation{})
	must(inst.s.ApproveRun(inst.ctx(), rita, running.RunID, Approve{Scope: task.ScopeOnce}))
	inst.start()
	inst.finish(st, failure(task.PhaseTimeout))
	equal(t, "state of the running run", inst.state(running.RunID), "canceled/task_closed")
	equal(t, "state of the waiting run", inst.state(waiting.RunID), "pending/approval")
	equal(t, "open run of the stuck task", inst.openRun(tk.ID), nil)
	must(inst.s.ApproveRun(inst.ctx(), rita, waiting.RunID, Approve{Scope: task.ScopeOnce}))
	inst.finish(inst.start(), completed("found"))
	equal(t, "cause of the run that resumes it", inst.openRun(tk.ID).StartReason, "subtask "+waiting.TaskID.String()+" completed")
}

func TestAHeartbeatTellsAWorkerThatItsRunWaits(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	inst.queueRuns("coder", 1)
	l := inst.lease("gpu")
	beats := make(chan task.Beat, 1)
	beat := func(known bool) {
		b, err := inst.s.ReportAlive(inst.ctx(), gpuBox, l.RunID, task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}, known, task.MaxWait)
		if err != nil {
			t.Error(err)
		}
		beats <- b
	}
	go beat(false)
	end := inst.s.beginWait(l.RunID)
	equal(t, "the waiting heartbeat, when the wait begins", (<-beats).Waits, true)
	go beat(true)
	end()
	equal(t, "the next heartbeat, when the wait ends", (<-beats).Waits, false)
	must(inst.s.CancelRun(inst.ctx(), maya, l.RunID, ""))
	equal(t, "entries of ended runs", len(inst.s.runWaits), 0)
}
