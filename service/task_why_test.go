package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// hourly schedules ticks from 6:00 to 21:00 UTC, like the default.
func hourly(c *Config) {
	c.Ticks = func(after task.Time) task.Time {
		t := after.Std().UTC().Truncate(time.Hour).Add(time.Hour)
		for t.Hour() < 6 || t.Hour() > 21 {
			t = t.Add(time.Hour)
		}
		return task.TimeFromStd(t)
	}
}

// why returns the reasons for a task, which must have these codes in order.
func (inst *instance) why(t *testing.T, id task.ID, codes ...task.WhyCode) []task.Reason {
	t.Helper()
	list := must(inst.s.Why(inst.ctx(), vera, id))
	page := must(inst.s.TaskPage(inst.ctx(), vera, id, time.UTC))
	equal(t, "reasons", len(list), len(codes))
	for i, r := range list {
		equal(t, "code", r.Code, codes[i])
		equal(t, "reason on the page", page.Why[i], r)
	}
	return list
}

func TestWhyATaskIsOrIsNotRunning(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, hourly, noApprove)
	first := func(t *testing.T, id task.ID, message string, codes ...task.WhyCode) task.Reason {
		t.Helper()
		r := inst.why(t, id, codes...)[0]
		equal(t, "message", r.Message, message)
		return r
	}
	fresh := func(owner string, with ...func(*task.New)) task.ID { return inst.create(maya, owner, with...).ID }
	t.Run("free", func(t *testing.T) {
		r := first(t, fresh("coder"), "Ready: it runs at the next tick, at 10:00 UTC.", task.WhyNextTick)
		equal(t, "until", r.Until.String(), "2026-03-02T10:00:00.000Z")
		berlin, _ := task.Zone("Europe/Berlin")
		id := fresh("coder")
		page := must(inst.s.TaskPage(inst.ctx(), vera, id, berlin))
		equal(t, "message in Berlin", page.Why[0].Message, "Ready: it runs at the next tick, at 11:00 CET.")
	})
	t.Run("draft", func(t *testing.T) {
		first(t, fresh("coder", draft), "It is a draft. Start it to put it into its owner's queue.", task.WhyDraft)
	})
	t.Run("a draft of an invalid owner", func(t *testing.T) {
		inst.why(t, fresh("bad", draft), task.WhyDraft, task.WhyOwnerInvalid)
	})
	t.Run("history", func(t *testing.T) {
		first(t, inst.taskWithStatus(task.Canceled).ID,
			"It is canceled, and archived tasks don't run. Create a follow-up task.", task.WhyArchived)
	})
	t.Run("claimed", func(t *testing.T) {
		first(t, inst.claimedTask(pull).ID, "Claimed by pull until 11:00 UTC; each heartbeat extends the claim.", task.WhyClaimed)
	})
	t.Run("pull-only", func(t *testing.T) {
		first(t, fresh("pull"), "pull claims its own work; Taskyard does not start it: its definition says `runner: none`", task.WhyPullOnly)
	})
	t.Run("question", func(t *testing.T) {
		k := fresh("coder")
		must(inst.s.Ask(inst.ctx(), coder, k, "?", false))
		first(t, k, "A question has waited for an answer since 09:00 UTC. No run starts and no agent can claim the task until someone replies.", task.WhyQuestion)
	})
	t.Run("blocked, canceled blockers first", func(t *testing.T) {
		a, b := fresh("pull"), fresh("pull")
		k := fresh("coder", blockedBy(a, b))
		inst.cancel(b)
		list := inst.why(t, k, task.WhyBlockerCanceled, task.WhyBlocked)
		equal(t, "message", list[1].Message, "It is blocked by #"+a.String()+", which must be done first.")
		equal(t, "tasks", [2]task.ID{list[0].Task, list[1].Task}, [2]task.ID{b, a})
	})
	t.Run("queued behind others, then running", func(t *testing.T) {
		runs := inst.queueRuns("reviewer", 3)
		ask := func(i int, words string) {
			t.Helper()
			id := runs[i].ID.String()
			r := first(t, runs[i].TaskID, "Run "+id+" is queued"+words, task.WhyQueued)
			equal(t, "run", r.Run, runs[i].ID)
		}
		ask(0, ": it starts when a slot is free.")
		ask(1, " behind 1 run of reviewer.")
		ask(2, " behind 2 runs of reviewer.")
		st := inst.start()
		ask(2, " behind 2 runs of reviewer.")
		first(t, st.Run.TaskID, "Run "+st.Run.ID.String()+" is working.", task.WhyRunning, task.WhyClaimed)
		inst.finish(st, failure(task.PhaseError))
		list := inst.why(t, st.Run.TaskID, task.WhyQueued, task.WhyFailed)
		equal(t, "backoff", list[0].Until, inst.s.Now().Add(30*time.Second))
		equal(t, "failure", list[1].Message, "Run "+st.Run.ID.String()+" failed: it broke")
	})
	t.Run("stuck", func(t *testing.T) {
		k := fresh("planner")
		must(inst.s.RunNow(inst.ctx(), maya, k))
		st := inst.start()
		for st.Run.TaskID != k {
			st = inst.start()
		}
		f := failure(task.PhaseAuth)
		f.Permanent = true
		inst.finish(st, f)
		first(t, k, "It is stuck: no automatic retries are left. Fix the cause, then run the task again.", task.WhyStuck, task.WhyFailed)
		list := inst.why(t, k, task.WhyStuck, task.WhyFailed)
		equal(t, "failure", list[1].Message, "Run "+st.Run.ID.String()+" failed: it broke")
	})
	t.Run("paused, but claims continue", func(t *testing.T) {
		free, held := fresh("coder"), inst.claimedTask(coder)
		must(inst.s.Pause(inst.ctx(), oleg, "coder", "too noisy"))
		first(t, free, "coder has been paused by oleg since 09:00 UTC: too noisy", task.WhyPaused)
		inst.why(t, held.ID, task.WhyClaimed)
		must(inst.s.Resume(inst.ctx(), oleg, "coder", ""))
	})
	t.Run("a missing owner", func(t *testing.T) {
		inst.define("gone", definition("tools: read"))
		k := fresh("gone")
		ok(t, inst.s.agents.Delete("gone"))
		first(t, k, "Its owner gone no longer exists. Move it to another agent.", task.WhyOwnerMissing)
	})
	t.Run("a wake dropped by the wake budget", func(t *testing.T) {
		k := fresh("planner")
		inst.s.config().Wakes, inst.s.config().WakeBudget = true, 1
		defer func() { inst.s.config().Wakes, inst.s.config().WakeBudget = false, 12 }()
		must(inst.s.Comment(inst.ctx(), maya, k, "Look."))
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(k).ID, ""))
		must(inst.s.Comment(inst.ctx(), maya, k, "Look again."))
		first(t, k, "“comment by maya” at 09:00 UTC started no run: the limit of 1 runs by wakes "+
			"per hour (scheduler.wake_budget_per_hour) was reached. A tick or a person can start one.", task.WhyWakeSkipped, task.WhyNextTick)
	})
	t.Run("no ticks at night, and the day is named", func(t *testing.T) {
		k := fresh("planner")
		inst.Forward(13 * time.Hour)
		first(t, k, "The scheduler is outside its window. The next tick is at 2026-03-03 06:00 UTC.", task.WhyOutsideWindow)
	})
	t.Run("an unknown task is not found", func(t *testing.T) {
		refused(t, onlyErr(inst.s.Why(inst.ctx(), vera, 9999)), task.CodeTaskNotFound)
	})
}

func TestWhyWithoutAClock(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.why(t, inst.create(maya, "coder").ID, task.WhyNoTick)
	tk, r := inst.waitingTask()
	list := inst.why(t, tk.ID, task.WhyApproval)
	equal(t, "message", list[0].Message, "Run "+r.ID.String()+
		" waits until 2026-03-03 09:00 UTC for a reviewer's approval: created by planner, who lacks edit.")
	must(inst.s.DenyRun(inst.ctx(), rita, r.ID, "not now", 0))
	list = inst.why(t, tk.ID, task.WhyStuck, task.WhyFailed)
	equal(t, "message", list[1].Message, "Run "+r.ID.String()+" was denied: not now")
}
