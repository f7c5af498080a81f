package service

import (
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestWhileARunWaitsForWhatItDelegatedItIsKnown(t *testing.T) {
	y := delegating(t)
	tk, st, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{})
	child := y.start()
	waits, changed := y.s.RunWaits(y.ctx(), st.Run.ID)
	equal(t, "before", waits, false)
	got := make(chan task.Delegated, 2)
	for range 2 { // two calls at once count as one wait
		go func() {
			v, err := y.s.DelegatedRun(y.ctx(), own, d.RunID, task.MaxWait)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
	}
	<-changed
	waits, changed = y.s.RunWaits(y.ctx(), st.Run.ID)
	equal(t, "meanwhile", waits, true)
	y.Forward(time.Minute)
	y.finish(child, completed("found"))
	for range 2 {
		equal(t, "result", (<-got).Summary, "found")
	}
	<-changed
	waits, _ = y.s.RunWaits(y.ctx(), st.Run.ID)
	equal(t, "afterwards", waits, false)
	testkit.Eventually(t, "the minute is recorded", func() bool { return y.run(st.Run.ID).WaitedMs >= 60_000 })
	equal(t, "task", y.task(tk.ID).Status, task.Active)
}

func TestAnApprovalOutlivesTheFailedRunThatAskedForIt(t *testing.T) {
	y := delegating(t, wakes, func(c *Config) { c.Policy, c.Attempts = task.ApproveDelegated, 1 })
	tk, st, own := y.inRun("boss")
	waiting := y.delegate(own, task.Delegation{})
	running := y.delegate(own, task.Delegation{})
	must(y.s.ApproveRun(y.ctx(), rita, running.RunID, Approve{Scope: task.ScopeOnce}))
	y.start()
	y.finish(st, failure(task.PhaseTimeout))
	equal(t, "what runs", y.state(running.RunID), "canceled/task_closed")
	equal(t, "what waits", y.state(waiting.RunID), "pending/approval")
	equal(t, "the task is stuck", y.openRun(tk.ID), nil)
	must(y.s.ApproveRun(y.ctx(), rita, waiting.RunID, Approve{Scope: task.ScopeOnce}))
	y.finish(y.start(), completed("found"))
	equal(t, "and resumed", y.openRun(tk.ID).Why, "subtask "+waiting.TaskID.String()+" completed")
}

func TestAHeartbeatTellsAWorkerThatItsRunWaits(t *testing.T) {
	y := newInstance(t, forGPU)
	y.queueRuns("coder", 1)
	l := y.lease("gpu")
	beats := make(chan task.Beat, 1)
	beat := func(known bool) {
		b, err := y.s.ReportAlive(y.ctx(), gpuBox, l.RunID, task.Hold{Attempt: l.Attempt, Lease: l.Lease}, known, task.MaxWait)
		if err != nil {
			t.Error(err)
		}
		beats <- b
	}
	go beat(false)
	end := y.s.beginWait(l.RunID)
	equal(t, "the held one, when it begins", (<-beats).Waits, true)
	go beat(true)
	end()
	equal(t, "the next one, when it ends", (<-beats).Waits, false)
	must(y.s.CancelRun(y.ctx(), maya, l.RunID, ""))
	equal(t, "what is known of runs that ended", len(y.s.runWaits), 0)
}
