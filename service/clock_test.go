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

// checkClock runs the watchdog once.
func (inst *instance) checkClock() {
	inst.t.Helper()
	ok(inst.t, inst.s.CheckClock(context.Background()))
}

// passTime moves the clock while the server is running.
func (inst *instance) passTime(d time.Duration) {
	inst.t.Helper()
	for ; d > 0; d -= 5 * time.Second {
		inst.Forward(min(d, 5*time.Second))
		inst.checkClock()
	}
}

func TestDowntimeDoesNotConsumeLeases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	short := func(c *Config) { c.Lease = time.Minute; forGPU(c) }
	released := func(inst *instance) int { return must(inst.s.ReleaseExpired(ctx)) }
	lost := func(inst *instance) int { return len(must(inst.s.LeaseLost(ctx))) }
	hold := func(t *testing.T) (*instance, *task.Task) {
		inst := newInstance(t, short)
		inst.checkClock()
		inst.create(maya, "pull", noStart)
		inst.queueRuns("coder", 1)
		if inst.lease("gpu") == nil {
			t.Fatal("no run started")
		}
		tk := inst.signup(pull)
		inst.passTime(20 * time.Second)
		return inst, tk
	}
	check := func(inst *instance, tk *task.Task) {
		t.Helper()
		equal(inst.t, "released at once", released(inst), 0)
		equal(inst.t, "lost at once", lost(inst), 0)
		equal(inst.t, "time left of the claim", inst.task(tk.ID).Claim.ExpiresAt.Sub(inst.s.Now()), 40*time.Second)
		must(inst.s.Heartbeat(ctx, pull, tk.ID, tk.Claim.ID))
		inst.passTime(65 * time.Second)
		equal(inst.t, "released later", released(inst), 1)
		equal(inst.t, "lost later", lost(inst), 1)
	}
	t.Run("after a suspend or a forward step of the clock", func(t *testing.T) {
		inst, tk := hold(t)
		inst.Forward(8 * time.Hour)
		check(inst, tk)
	})
	t.Run("after a backward step of the clock", func(t *testing.T) {
		inst, tk := hold(t)
		inst.Forward(-8 * time.Hour)
		check(inst, tk)
	})
	t.Run("while the server was down", func(t *testing.T) {
		inst, tk := hold(t)
		inst.Forward(8 * time.Hour)
		inst.s = inst.service(short)
		inst.checkClock()
		equal(t, "released at once", released(inst), 0)
		equal(t, "lost at once", lost(inst), 0)
		if left := inst.task(tk.ID).Claim.ExpiresAt.Sub(inst.s.Now()); left < 40*time.Second || left > 40*time.Second+clockStoreEvery {
			t.Errorf("got %v left of the claim", left)
		}
	})
	t.Run("while the database could not be written", func(t *testing.T) {
		inst, tk := hold(t)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		for range 20 {
			inst.Forward(5 * time.Second)
			_ = inst.s.CheckClock(gone)
		}
		equal(t, "released at once", released(inst), 0)
		equal(t, "lost at once", lost(inst), 0)
		if left := inst.task(tk.ID).Claim.ExpiresAt.Sub(inst.s.Now()); left < 20*time.Second || left > 40*time.Second {
			t.Errorf("got %v left of the claim", left)
		}
	})
}

// setBackAfterFailure returns an instance whose run failed just before its clock was
// set back by an hour.
func setBackAfterFailure(t *testing.T) *instance {
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	st := inst.runTask(tk.ID)
	inst.checkClock()
	inst.finish(st, failure(task.PhaseError))
	inst.Forward(-time.Hour)
	return inst
}

func TestSettingTheClockBackMovesDueTimes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a retry due in 30 s stays due in 30 s", func(t *testing.T) {
		inst := setBackAfterFailure(t)
		inst.checkClock()
		_, due, err := inst.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "due in", due.Sub(inst.s.Now()), 30*time.Second)
		inst.passTime(30 * time.Second)
		if st, _, err := inst.s.NextRun(ctx, nil); err != nil || st == nil {
			t.Errorf("got %v, %v", st, err)
		}
	})
	t.Run("also between the last check of a server and the first of the next", func(t *testing.T) {
		inst := setBackAfterFailure(t)
		inst.s = inst.service()
		inst.checkClock()
		_, due, err := inst.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "due in", due.Sub(inst.s.Now()), 30*time.Second)
	})
	t.Run("decisions, approvals and the closing of runs keep their remaining time", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		closes := inst.create(maya, "reviewer", noStart)
		st := inst.runTask(closes.ID)
		equal(t, "started", st.Run.TaskID, closes.ID)
		inst.checkClock()
		expires := r.Approval.ExpiresAt
		must(inst.s.CompleteTask(ctx, inst.actor(st), closes.ID, "", 0))
		must(inst.s.ApproveRun(ctx, rita, r.ID, Approve{Undo: 5 * time.Second}))
		inst.Forward(-time.Hour)
		inst.checkClock()
		equal(t, "the approval ends", inst.run(r.ID).Approval.ExpiresAt, expires.Add(-time.Hour))
		inst.passTime(8 * time.Second)
		next, _, err := inst.s.NextRun(ctx, nil)
		ok(t, err)
		if next == nil || next.Run.ID != r.ID {
			t.Errorf("got %+v", next)
		}
		equal(t, "the closed run", inst.run(st.Run.ID).State().String(), "completed/ended")
	})
	t.Run("limits per hour do not count what happened while the clock was ahead", func(t *testing.T) {
		inst := newInstance(t, wakes, noApprove, func(c *Config) { c.WakeBudget = 1 })
		tk := inst.create(maya, "coder")
		inst.wantWoken(t, tk.ID, "coder")
		inst.checkClock()
		inst.Forward(-8 * time.Hour)
		inst.checkClock()
		inst.passTime(2 * time.Hour)
		must(inst.s.Comment(ctx, maya, tk.ID, "more"))
		inst.wantWoken(t, tk.ID, "coder")
	})
	t.Run("a blocked merge is retried after its remaining time", func(t *testing.T) {
		inst, git, tk := newHeldTask(t)
		git.merge = func() {}
		close(git.let)
		must(inst.s.CompleteTask(ctx, pull, tk.ID, "done", 0))
		must(inst.s.AcceptResult(ctx, rita, tk.ID, 1, must(inst.s.Result(ctx, maya, tk.ID, 1)).Digest, ""))
		inst.checkClock()
		_, _, err := inst.s.MergeNext(ctx)
		ok(t, err)
		inst.Forward(-time.Hour)
		inst.checkClock()
		did, due, err := inst.s.MergeNext(ctx)
		ok(t, err)
		equal(t, "merged at once", did, false)
		equal(t, "due in", due.Sub(inst.s.Now()), mergeRetry)
	})
}

func TestAFailedClockCheckDelaysNobody(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	inst := newInstance(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	inst.checkClock()
	dbtest.Refuse(t, inst.db, "INSERT ON settings", "new.key = 'clock'", "no look today")
	inst.Forward(time.Minute)
	for range 5 {
		inst.create(maya, "coder", noStart)
	}
	equal(t, "failed checks", strings.Count(log.String(), "failed to check the clock"), 1)
}

// Requests may arrive before the first check after a gap.
func TestAwakeTimePausesDuringAnUncheckedGap(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.checkClock()
	before := inst.s.AwakeTime()
	for _, jump := range []time.Duration{8 * time.Hour, -40 * 24 * time.Hour, 40 * 24 * time.Hour} {
		inst.Forward(jump)
		equal(t, "awake before the check", inst.s.AwakeTime(), before)
		inst.checkClock()
		equal(t, "awake after the check", inst.s.AwakeTime(), before)
	}
	inst.passTime(10 * time.Second)
	equal(t, "awake while the server runs", inst.s.AwakeTime(), before.Add(10*time.Second))
}
