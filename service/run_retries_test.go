package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	t.Run("a failure is retried after the backoff, three attempts in total", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		first := inst.runTask(tk.ID)
		inst.finish(first, failure(task.PhaseError))
		r := inst.openRun(tk.ID)
		equal(t, "cause", r.Cause, task.CauseRetry)
		equal(t, "retry of", r.RetryOf, first.Run.ID)
		equal(t, "attempt", r.Attempt, 2)
		equal(t, "not before", r.NotBefore, inst.s.Now().Add(30*time.Second))
		inst.nothingStarts()
		inst.Forward(30 * time.Second)
		inst.finish(inst.start(), failure(task.PhaseCrash))
		r = inst.openRun(tk.ID)
		equal(t, "attempt", r.Attempt, 3)
		equal(t, "not before", r.NotBefore, inst.s.Now().Add(time.Minute))
		inst.Forward(time.Minute)
		inst.finish(inst.start(), failure(task.PhaseIdle))
		inst.wantNoRun(t, tk.ID)
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvTaskStuck)
	})
	t.Run("a failure is not retried before the time its provider gives, within a day", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		f := failure(task.PhaseError)
		for _, tt := range []struct{ after, wait time.Duration }{{time.Hour, time.Hour}, {time.Second, time.Minute}} {
			f.After = tt.after
			inst.finish(inst.start(), f)
			equal(t, "not before", inst.openRun(tk.ID).NotBefore, inst.s.Now().Add(tt.wait))
			inst.Forward(tt.wait)
		}
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, ""))
		tk = inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		f.After = 1000 * time.Hour
		inst.finish(inst.start(), f)
		equal(t, "not before", inst.openRun(tk.ID).NotBefore, inst.s.Now().Add(24*time.Hour))
	})
	t.Run("a stuck task waits for a person", func(t *testing.T) {
		inst := newInstance(t, wakes)
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		f := failure(task.PhaseAuth)
		f.Permanent = true
		st := inst.start()
		inst.finish(st, f)
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvTaskStuck)
		equal(t, "tick", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
		equal(t, "reason", inst.skips()[tk.ID], "stuck")
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "hm"))
		inst.wantNoRun(t, tk.ID)

		r := must(inst.s.RetryRun(inst.ctx(), oleg, st.Run.ID))
		equal(t, "retry of", r.RetryOf, st.Run.ID)
		equal(t, "attempt", r.Attempt, 1)
		equal(t, "failures", inst.task(tk.ID).Failures, 0)
		inst.finish(inst.start(), failure(task.PhaseError))
		equal(t, "attempt after the retry", inst.openRun(tk.ID).Attempt, 2)
	})
	for _, phase := range []task.Phase{task.PhaseTokens, task.PhaseCost, task.PhaseTurns} {
		t.Run("after exceeding its "+string(phase)+" a task waits for a person", func(t *testing.T) {
			inst := newInstance(t, wakes)
			tk := inst.create(maya, "coder", noStart)
			st := inst.runTask(tk.ID)
			inst.finish(st, failure(phase))
			inst.wantNoRun(t, tk.ID)
			equal(t, "event", last(inst.kinds(tk.ID)), task.EvTaskStuck)
			equal(t, "tick", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
			equal(t, "attempt", must(inst.s.RetryRun(inst.ctx(), oleg, st.Run.ID)).Attempt, 1)
		})
	}
	t.Run("a lost run is retried at once", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		st := inst.runTask(tk.ID)
		inst.Forward(time.Minute)
		lost := must(inst.s.LeaseLost(inst.ctx()))
		equal(t, "lost", len(lost), 1)
		ok(t, inst.s.LoseRun(inst.ctx(), lost[0], "the process is gone"))
		equal(t, "state", inst.run(st.Run.ID).State(), task.State{Status: task.RunFailed, Phase: task.PhaseLost})
		next := inst.start()
		equal(t, "attempt", next.Run.Attempt, 2)
		equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Working)
	})
	t.Run("a success resets the count of failures", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		inst.finish(inst.runTask(tk.ID), failure(task.PhaseError))
		inst.Forward(time.Minute)
		inst.finish(inst.start(), completed("now"))
		equal(t, "failures", inst.task(tk.ID).Failures, 0)
	})
	t.Run("a failed run has a reason and no summary", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		st := inst.runTask(tk.ID)
		f := failure(task.PhaseError)
		f.Summary = "all good"
		inst.finish(st, f)
		r := inst.run(st.Run.ID)
		equal(t, "reason", r.Reason, "it broke")
		equal(t, "summary", r.Summary, "")
	})
	t.Run("only an ended run can be retried", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		_, err := inst.s.RetryRun(inst.ctx(), maya, r.ID)
		refused(t, err, task.CodeRunNotFinal, "pending: queued")
	})
}

func TestBackoffGrowsToAnHour(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		base := min(30*time.Second<<min(n, 10), time.Hour)
		for range 50 {
			if d := backoff(n); d < base*8/10 || d > base*12/10 {
				t.Fatalf("attempt %d: got %s, want within 20 %% of %s", n, d, base)
			}
		}
	}
}

func TestARequeueIsNotAnAttempt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	st := inst.runTask(tk.ID)
	ok(t, inst.s.RequeueRun(inst.ctx(), st.Run.ID, st.Run.Lease))
	r := inst.run(st.Run.ID)
	equal(t, "state", r.State(), queued)
	equal(t, "attempt", r.Attempt, 1)
	equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Idle)
	t.Run("its token and lease are no longer valid", func(t *testing.T) {
		_, err := inst.s.Authenticate(inst.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
		refused(t, inst.s.RunHeartbeat(inst.ctx(), r.ID, st.Run.Lease), task.CodeStaleLease)
	})
	t.Run("the next start has a new lease, which fences the old one", func(t *testing.T) {
		next := inst.start()
		equal(t, "run", next.Run.ID, st.Run.ID)
		if next.Run.Lease <= st.Run.Lease {
			t.Fatalf("got lease %d after %d", next.Run.Lease, st.Run.Lease)
		}
		for name, err := range map[string]error{
			"heartbeat":  inst.s.RunHeartbeat(inst.ctx(), r.ID, st.Run.Lease),
			"transcript": inst.s.AppendTranscript(inst.ctx(), r.ID, st.Run.Lease, []task.Message{{Content: "x"}}),
			"finish":     inst.s.FinishRun(inst.ctx(), r.ID, st.Run.Lease, completed("x")),
			"requeue":    inst.s.RequeueRun(inst.ctx(), r.ID, st.Run.Lease),
			"working":    inst.s.RunWorking(inst.ctx(), r.ID, st.Run.Lease, 1, "", ""),
		} {
			t.Run(name, func(t *testing.T) { refused(t, err, task.CodeStaleLease) })
		}
		inst.finish(next, completed("ok"))
		equal(t, "failures", inst.task(tk.ID).Failures, 0)
	})
}
