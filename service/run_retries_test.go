package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestRetries(t *testing.T) {
	t.Run("a failure is tried again after the back-off, three times in all", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		first := y.start()
		y.finish(first, failure(task.PhaseError))
		r := y.openRun(tk.ID)
		equal(t, "cause", r.Cause, task.CauseRetry)
		equal(t, "retry of", r.RetryOf, first.Run.ID)
		equal(t, "attempt", r.Attempt, 2)
		equal(t, "not before", r.NotBefore, y.s.Now().Add(30*time.Second))
		y.nothingStarts()
		y.Forward(30 * time.Second)
		y.finish(y.start(), failure(task.PhaseCrash))
		r = y.openRun(tk.ID)
		equal(t, "attempt", r.Attempt, 3)
		equal(t, "not before", r.NotBefore, y.s.Now().Add(time.Minute))
		y.Forward(time.Minute)
		y.finish(y.start(), failure(task.PhaseIdle))
		y.asleep(t, tk.ID)
		equal(t, "event", last(y.kinds(tk.ID)), task.EvTaskStuck)
	})
	t.Run("what is stuck waits for a person", func(t *testing.T) {
		y := newInstance(t, wakes)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		f := failure(task.PhaseAuth)
		f.Permanent = true
		st := y.start()
		y.finish(st, f)
		equal(t, "event", last(y.kinds(tk.ID)), task.EvTaskStuck)
		equal(t, "tick", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
		equal(t, "reason", y.skips()[tk.ID], "stuck")
		must(y.s.Comment(y.ctx(), maya, tk.ID, "hm"))
		y.asleep(t, tk.ID)

		r := must(y.s.RetryRun(y.ctx(), oleg, st.Run.ID))
		equal(t, "retry of", r.RetryOf, st.Run.ID)
		equal(t, "attempt", r.Attempt, 1)
		equal(t, "failures", y.task(tk.ID).Failures, 0)
		y.finish(y.start(), failure(task.PhaseError))
		equal(t, "attempt after the retry", y.openRun(tk.ID).Attempt, 2)
	})
	for _, phase := range []task.Phase{task.PhaseTokens, task.PhaseCost, task.PhaseTurns} {
		t.Run("over its "+string(phase)+" a run waits for a person", func(t *testing.T) {
			y := newInstance(t, wakes)
			tk := y.create(maya, "coder", noStart)
			must(y.s.RunNow(y.ctx(), maya, tk.ID))
			st := y.start()
			y.finish(st, failure(phase))
			y.asleep(t, tk.ID)
			equal(t, "event", last(y.kinds(tk.ID)), task.EvTaskStuck)
			equal(t, "tick", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
			equal(t, "attempt", must(y.s.RetryRun(y.ctx(), oleg, st.Run.ID)).Attempt, 1)
		})
	}
	t.Run("a lost run is tried again at once", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		st := y.start()
		y.Forward(time.Minute)
		lost := must(y.s.LeaseLost(y.ctx()))
		equal(t, "lost", len(lost), 1)
		ok(t, y.s.LoseRun(y.ctx(), lost[0], "the process is gone"))
		equal(t, "state", y.run(st.Run.ID).State(), task.State{Status: task.RunFailed, Phase: task.PhaseLost})
		next := y.start()
		equal(t, "attempt", next.Run.Attempt, 2)
		equal(t, "work status", y.task(tk.ID).WorkStatus, task.Working)
	})
	t.Run("a success ends the row of failures", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		y.finish(y.start(), failure(task.PhaseError))
		y.Forward(time.Minute)
		y.finish(y.start(), completed("now"))
		equal(t, "failures", y.task(tk.ID).Failures, 0)
	})
	t.Run("a failed run has a reason and no summary", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		st := y.start()
		f := failure(task.PhaseError)
		f.Summary = "all good"
		y.finish(st, f)
		r := y.run(st.Run.ID)
		equal(t, "reason", r.Reason, "it broke")
		equal(t, "summary", r.Summary, "")
	})
	t.Run("only an ended run is retried", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		r := must(y.s.RunNow(y.ctx(), maya, tk.ID))
		_, err := y.s.RetryRun(y.ctx(), maya, r.ID)
		refused(t, err, task.CodeRunNotFinal, "pending: queued")
	})
}

func TestBackoffGrowsToAnHour(t *testing.T) {
	for n := range 20 {
		base := min(30*time.Second<<min(n, 10), time.Hour)
		for range 50 {
			if d := backoff(n); d < base*8/10 || d > base*12/10 {
				t.Fatalf("attempt %d: %s is not within 20 %% of %s", n, d, base)
			}
		}
	}
}

func TestRequeueCountsNoAttempt(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	ok(t, y.s.RequeueRun(y.ctx(), st.Run.ID, st.Run.Lease))
	r := y.run(st.Run.ID)
	equal(t, "state", r.State(), queued)
	equal(t, "attempt", r.Attempt, 1)
	equal(t, "work status", y.task(tk.ID).WorkStatus, task.Idle)
	t.Run("its token and its lease are dead", func(t *testing.T) {
		_, err := y.s.Authenticate(y.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
		refused(t, y.s.RunHeartbeat(y.ctx(), r.ID, st.Run.Lease), task.CodeStaleLease)
	})
	t.Run("the next start has a new lease, which fences the old one", func(t *testing.T) {
		next := y.start()
		equal(t, "run", next.Run.ID, st.Run.ID)
		if next.Run.Lease <= st.Run.Lease {
			t.Fatalf("lease %d after %d", next.Run.Lease, st.Run.Lease)
		}
		for name, err := range map[string]error{
			"heartbeat":  y.s.RunHeartbeat(y.ctx(), r.ID, st.Run.Lease),
			"transcript": y.s.AppendTranscript(y.ctx(), r.ID, st.Run.Lease, []task.Message{{Content: "x"}}),
			"finish":     y.s.FinishRun(y.ctx(), r.ID, st.Run.Lease, completed("x")),
			"requeue":    y.s.RequeueRun(y.ctx(), r.ID, st.Run.Lease),
			"working":    y.s.RunWorking(y.ctx(), r.ID, st.Run.Lease, 1, "", ""),
		} {
			t.Run(name, func(t *testing.T) { refused(t, err, task.CodeStaleLease) })
		}
		y.finish(next, completed("ok"))
		equal(t, "failures", y.task(tk.ID).Failures, 0)
	})
}
