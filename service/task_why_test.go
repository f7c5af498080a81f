package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// hourly plans ticks from 6 to 21 o'clock UTC, as the default does.
func hourly(c *Config) {
	c.Ticks = func(after task.Time) task.Time {
		t := after.Std().UTC().Truncate(time.Hour).Add(time.Hour)
		for t.Hour() < 6 || t.Hour() > 21 {
			t = t.Add(time.Hour)
		}
		return task.TimeFromStd(t)
	}
}

// why returns the reasons, which must have these codes in this order.
func (y *instance) why(t *testing.T, id task.ID, codes ...task.WhyCode) []task.Reason {
	t.Helper()
	list := must(y.s.Why(y.ctx(), vera, id))
	page := must(y.s.TaskPage(y.ctx(), vera, id, time.UTC))
	equal(t, "reasons", len(list), len(codes))
	for i, r := range list {
		equal(t, "code", r.Code, codes[i])
		equal(t, "reason on the page", page.Why[i], r)
	}
	return list
}

func TestWhyATaskIsOrIsNotRunning(t *testing.T) {
	y := newInstance(t, hourly, noApprove)
	first := func(t *testing.T, id task.ID, message string, codes ...task.WhyCode) task.Reason {
		t.Helper()
		r := y.why(t, id, codes...)[0]
		equal(t, "message", r.Message, message)
		return r
	}
	fresh := func(owner string, with ...func(*task.New)) task.ID { return y.create(maya, owner, with...).ID }
	t.Run("free", func(t *testing.T) {
		r := first(t, fresh("coder"), "Ready: it runs at the next tick, at 10:00 UTC.", task.WhyNextTick)
		equal(t, "until", r.Until.String(), "2026-03-02T10:00:00.000Z")
		berlin, _ := task.Zone("Europe/Berlin")
		id := fresh("coder")
		page := must(y.s.TaskPage(y.ctx(), vera, id, berlin))
		equal(t, "message in Berlin", page.Why[0].Message, "Ready: it runs at the next tick, at 11:00 CET.")
	})
	t.Run("draft", func(t *testing.T) {
		first(t, fresh("coder", draft), "It is a draft. Start it to put it into its owner's queue.", task.WhyDraft)
	})
	t.Run("a draft of an invalid owner", func(t *testing.T) {
		y.why(t, fresh("bad", draft), task.WhyDraft, task.WhyOwnerInvalid)
	})
	t.Run("history", func(t *testing.T) {
		first(t, y.in(task.Canceled).ID, "It is canceled, and archived tasks don't run. Create a follow-up task.", task.WhyArchived)
	})
	t.Run("claimed", func(t *testing.T) {
		first(t, y.working(pull).ID, "Claimed by pull until 11:00 UTC; each heartbeat extends the claim.", task.WhyClaimed)
	})
	t.Run("pull-only", func(t *testing.T) {
		first(t, fresh("pull"), "pull claims its work itself; Taskyard does not start it: its definition says `runner: none`", task.WhyPullOnly)
	})
	t.Run("question", func(t *testing.T) {
		k := fresh("coder")
		must(y.s.Ask(y.ctx(), coder, k, "?", false))
		first(t, k, "A question has waited for an answer since 09:00 UTC. No run starts and no agent can claim the task until someone replies.", task.WhyQuestion)
	})
	t.Run("blocked, canceled blockers first", func(t *testing.T) {
		a, b := fresh("pull"), fresh("pull")
		k := fresh("coder", after(a, b))
		y.cancel(b)
		list := y.why(t, k, task.WhyBlockerCanceled, task.WhyBlocked)
		equal(t, "message", list[1].Message, "It is blocked by #"+a.String()+", which must be done first.")
		equal(t, "tasks", [2]task.ID{list[0].Task, list[1].Task}, [2]task.ID{b, a})
	})
	t.Run("queued behind others, then running", func(t *testing.T) {
		runs := y.queueRuns("reviewer", 3)
		ask := func(i int, words string) {
			t.Helper()
			id := runs[i].ID.String()
			r := first(t, runs[i].TaskID, "Run "+id+" is queued"+words, task.WhyQueued)
			equal(t, "run", r.Run, runs[i].ID)
		}
		ask(0, ": it starts when a slot is free.")
		ask(1, " behind 1 run of reviewer.")
		ask(2, " behind 2 runs of reviewer.")
		st := y.start()
		ask(2, " behind 2 runs of reviewer.")
		first(t, st.Run.TaskID, "Run "+st.Run.ID.String()+" is working.", task.WhyRunning, task.WhyClaimed)
		y.finish(st, failure(task.PhaseError))
		list := y.why(t, st.Run.TaskID, task.WhyQueued, task.WhyFailed)
		equal(t, "back-off", list[0].Until, y.s.Now().Add(30*time.Second))
		equal(t, "failure", list[1].Message, "Run "+st.Run.ID.String()+" failed: it broke")
	})
	t.Run("stuck", func(t *testing.T) {
		k := fresh("planner")
		must(y.s.RunNow(y.ctx(), maya, k))
		st := y.start()
		for st.Run.TaskID != k {
			st = y.start()
		}
		f := failure(task.PhaseAuth)
		f.Permanent = true
		y.finish(st, f)
		first(t, k, "It is stuck: no automatic retries are left. Fix the cause, then press Retry.", task.WhyStuck, task.WhyFailed)
		list := y.why(t, k, task.WhyStuck, task.WhyFailed)
		equal(t, "failure", list[1].Message, "Run "+st.Run.ID.String()+" failed: it broke")
	})
	t.Run("paused, which a claim outlives", func(t *testing.T) {
		free, held := fresh("coder"), y.working(coder)
		must(y.s.Pause(y.ctx(), oleg, "coder", "too noisy"))
		first(t, free, "coder has been paused by oleg since 09:00 UTC: too noisy", task.WhyPaused)
		y.why(t, held.ID, task.WhyClaimed)
		must(y.s.Resume(y.ctx(), oleg, "coder", ""))
	})
	t.Run("an owner that is gone", func(t *testing.T) {
		y.define("gone", definition("tools: read"))
		k := fresh("gone")
		ok(t, y.s.agents.Delete("gone"))
		first(t, k, "Its owner gone no longer exists. Move it to another agent.", task.WhyOwnerMissing)
	})
	t.Run("a wake that the budget of wakes dropped", func(t *testing.T) {
		k := fresh("planner")
		y.s.config().Wakes, y.s.config().WakeBudget = true, 1
		defer func() { y.s.config().Wakes, y.s.config().WakeBudget = false, 12 }()
		must(y.s.Comment(y.ctx(), maya, k, "Look."))
		must(y.s.CancelRun(y.ctx(), maya, y.openRun(k).ID, ""))
		must(y.s.Comment(y.ctx(), maya, k, "Look again."))
		first(t, k, "“comment by maya” at 09:00 UTC started no run: the limit of 1 runs by wakes "+
			"per hour (scheduler.wake_budget_per_hour) was reached. A tick or a person runs it.", task.WhyWakeSkipped, task.WhyNextTick)
	})
	t.Run("ticks rest over night, and the day is named", func(t *testing.T) {
		k := fresh("planner")
		y.Forward(13 * time.Hour)
		first(t, k, "The scheduler is outside its window. The next tick is at 2026-03-03 06:00 UTC.", task.WhyOutsideWindow)
	})
	t.Run("an unknown task is not found", func(t *testing.T) {
		refused(t, second(y.s.Why(y.ctx(), vera, 9999)), task.CodeTaskNotFound)
	})
}

func TestWhyWithoutAClock(t *testing.T) {
	y := newInstance(t)
	y.why(t, y.create(maya, "coder").ID, task.WhyNoTick)
	tk, r := y.waits()
	list := y.why(t, tk.ID, task.WhyApproval)
	equal(t, "message", list[0].Message, "Run "+r.ID.String()+
		" waits until 2026-03-03 09:00 UTC for a reviewer's approval: created by planner, who lacks edit.")
	must(y.s.DenyRun(y.ctx(), rita, r.ID, "not now", 0))
	list = y.why(t, tk.ID, task.WhyStuck, task.WhyFailed)
	equal(t, "message", list[1].Message, "Run "+r.ID.String()+" was denied: not now")
}
