package service

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taskyard/db/dbtest"
	"taskyard/task"
)

// look is a turn of the watchdog.
func (y *instance) look() {
	y.t.Helper()
	ok(y.t, y.s.CheckClock(context.Background()))
}

// pass lets time go by with the server running.
func (y *instance) pass(d time.Duration) {
	y.t.Helper()
	for ; d > 0; d -= 5 * time.Second {
		y.Forward(min(d, 5*time.Second))
		y.look()
	}
}

func TestNobodyLosesTheTimeInWhichTheyCouldNotBeHeard(t *testing.T) {
	ctx := context.Background()
	short := func(c *Config) { c.Lease = time.Minute; forGPU(c) }
	released := func(y *instance) int { return must(y.s.ReleaseExpired(ctx)) }
	lost := func(y *instance) int { return len(must(y.s.LeaseLost(ctx))) }
	hold := func(t *testing.T) (*instance, *task.Task) {
		y := newInstance(t, short)
		y.look()
		y.create(maya, "pull", noStart)
		y.queueRuns("coder", 1)
		if y.lease("gpu") == nil {
			t.Fatal("no run")
		}
		tk := y.signup(pull)
		y.pass(20 * time.Second)
		return y, tk
	}
	check := func(y *instance, tk *task.Task) {
		t.Helper()
		equal(y.t, "released at once", released(y), 0)
		equal(y.t, "lost at once", lost(y), 0)
		equal(y.t, "time left of the claim", y.task(tk.ID).Claim.ExpiresAt.Sub(y.s.Now()), 40*time.Second)
		must(y.s.Heartbeat(ctx, pull, tk.ID, tk.Claim.ID))
		y.pass(65 * time.Second)
		equal(y.t, "released later", released(y), 1)
		equal(y.t, "lost later", lost(y), 1)
	}
	t.Run("after a suspend, or a step of the clock forward", func(t *testing.T) {
		y, tk := hold(t)
		y.Forward(8 * time.Hour)
		check(y, tk)
	})
	t.Run("after a step of the clock back", func(t *testing.T) {
		y, tk := hold(t)
		y.Forward(-8 * time.Hour)
		check(y, tk)
	})
	t.Run("while the server was down", func(t *testing.T) {
		y, tk := hold(t)
		y.Forward(8 * time.Hour)
		y.s = y.service(short)
		y.look()
		equal(t, "released at once", released(y), 0)
		equal(t, "lost at once", lost(y), 0)
		if left := y.task(tk.ID).Claim.ExpiresAt.Sub(y.s.Now()); left < 40*time.Second || left > 40*time.Second+clockStoreEvery {
			t.Errorf("%v are left of the claim", left)
		}
	})
	t.Run("while nothing could be written", func(t *testing.T) {
		y, tk := hold(t)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		for range 20 {
			y.Forward(5 * time.Second)
			_ = y.s.CheckClock(gone)
		}
		equal(t, "released at once", released(y), 0)
		equal(t, "lost at once", lost(y), 0)
		if left := y.task(tk.ID).Claim.ExpiresAt.Sub(y.s.Now()); left < 20*time.Second || left > 40*time.Second {
			t.Errorf("%v are left of the claim", left)
		}
	})
}

// setBackAfterFailure makes an instance whose run has failed just before its
// clock was set back by an hour.
func setBackAfterFailure(t *testing.T) *instance {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	y.look()
	y.finish(st, failure(task.PhaseError))
	y.Forward(-time.Hour)
	return y
}

func TestAStepBackOfTheClockMovesWhatIsDue(t *testing.T) {
	ctx := context.Background()
	t.Run("a retry due in 30 s stays due in 30 s", func(t *testing.T) {
		y := setBackAfterFailure(t)
		y.look()
		_, due, err := y.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "due in", due.Sub(y.s.Now()), 30*time.Second)
		y.pass(30 * time.Second)
		if st, _, err := y.s.NextRun(ctx, nil); err != nil || st == nil {
			t.Errorf("started %v, %v", st, err)
		}
	})
	t.Run("also between the last look of a server and the first of the next", func(t *testing.T) {
		y := setBackAfterFailure(t)
		y.s = y.service()
		y.look()
		_, due, err := y.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "due in", due.Sub(y.s.Now()), 30*time.Second)
	})
	t.Run("a decision takes effect, and an approval and a run's closing end, when they would have", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		closes := y.create(maya, "reviewer", noStart)
		must(y.s.RunNow(ctx, maya, closes.ID))
		st := y.start()
		equal(t, "started", st.Run.TaskID, closes.ID)
		y.look()
		expires := r.Approval.ExpiresAt
		must(y.s.CompleteTask(ctx, y.actor(st), closes.ID, "", 0))
		must(y.s.ApproveRun(ctx, rita, r.ID, Approve{Undo: 5 * time.Second}))
		y.Forward(-time.Hour)
		y.look()
		equal(t, "the approval ends", y.run(r.ID).Approval.ExpiresAt, expires.Add(-time.Hour))
		y.pass(8 * time.Second)
		next, _, err := y.s.NextRun(ctx, nil)
		ok(t, err)
		if next == nil || next.Run.ID != r.ID {
			t.Errorf("started %+v", next)
		}
		equal(t, "the closed run", y.run(st.Run.ID).State().String(), "completed/ended")
	})
	t.Run("what was within the last hour does not count for as long as the clock was ahead", func(t *testing.T) {
		y := newInstance(t, wakes, noApprove, func(c *Config) { c.WakeBudget = 1 })
		tk := y.create(maya, "coder")
		y.woken(t, tk.ID, "coder")
		y.look()
		y.Forward(-8 * time.Hour)
		y.look()
		y.pass(2 * time.Hour)
		must(y.s.Comment(ctx, maya, tk.ID, "more"))
		y.woken(t, tk.ID, "coder")
	})
	t.Run("a merge that something was in the way of is tried again when it would have been", func(t *testing.T) {
		y, git, tk := newHeldTask(t)
		git.merge = func() {}
		close(git.let)
		must(y.s.CompleteTask(ctx, pull, tk.ID, "done", 0))
		must(y.s.AcceptResult(ctx, rita, tk.ID, 1, must(y.s.Result(ctx, maya, tk.ID, 1)).Digest, ""))
		y.look()
		_, _, err := y.s.MergeNext(ctx)
		ok(t, err)
		y.Forward(-time.Hour)
		y.look()
		did, due, err := y.s.MergeNext(ctx)
		ok(t, err)
		equal(t, "made at once", did, false)
		equal(t, "due in", due.Sub(y.s.Now()), mergeRetry)
	})
}

func TestALookThatFailsHoldsNobodyUp(t *testing.T) {
	var log bytes.Buffer
	y := newInstance(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	y.look()
	dbtest.Refuse(t, y.db, "INSERT ON settings", "new.key = 'clock'", "no look today")
	y.Forward(time.Minute)
	for range 5 {
		y.create(maya, "coder", noStart)
	}
	equal(t, "looks that failed", strings.Count(log.String(), "failed to check the clock"), 1)
}

// Requests come before the first look after a gap, too.
func TestAwakeStandsStillInAGapThatNoLookHasMet(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	y.look()
	before := y.s.Awake()
	for _, jump := range []time.Duration{8 * time.Hour, -40 * 24 * time.Hour, 40 * 24 * time.Hour} {
		y.Forward(jump)
		equal(t, "awake before the look", y.s.Awake(), before)
		y.look()
		equal(t, "awake after it", y.s.Awake(), before)
	}
	y.pass(10 * time.Second)
	equal(t, "awake while the server runs", y.s.Awake(), before.Add(10*time.Second))
}
