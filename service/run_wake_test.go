package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// wantWoken checks that a task has one queued run from a wake, and ends it.
func (inst *instance) wantWoken(t *testing.T, id task.ID, agent string) {
	t.Helper()
	r := inst.openRun(id)
	if r == nil {
		t.Fatalf("got no run; events: %v", inst.kinds(id))
	}
	equal(t, "cause", r.Cause, task.CauseWake)
	equal(t, "agent", r.Agent, agent)
	must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
}

func (inst *instance) wantNoRun(t *testing.T, id task.ID) {
	t.Helper()
	if r := inst.openRun(id); r != nil {
		t.Fatalf("got run %d (%s), want none", r.ID, r.Cause)
	}
}

func TestWakes(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	t.Run("creating an active task wakes its owner", func(t *testing.T) {
		inst.wantWoken(t, inst.create(maya, "coder").ID, "coder")
	})
	t.Run("not with start false, and not as a draft", func(t *testing.T) {
		inst.wantNoRun(t, inst.create(maya, "coder", noStart).ID)
		inst.wantNoRun(t, inst.create(maya, "coder", draft).ID)
	})
	t.Run("starting a draft wakes its owner", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft)
		must(inst.patchStatus(tk.ID, "active"))
		inst.wantWoken(t, tk.ID, "coder")
	})
	parent := func() (*task.Task, *task.Task) {
		p := inst.create(maya, "planner", noStart, steps("a"))
		return p, inst.subtask(maya, p.ID, 0, "coder", noStart)
	}
	t.Run("completing a subtask wakes the parent's owner", func(t *testing.T) {
		p, sub := parent()
		must(inst.s.CompleteTask(inst.ctx(), coder, sub.ID, "", 0))
		inst.wantWoken(t, p.ID, "planner")
	})
	t.Run("canceling a subtask wakes the parent's owner", func(t *testing.T) {
		p, sub := parent()
		must(inst.s.CancelTask(inst.ctx(), coder, sub.ID, ""))
		inst.wantWoken(t, p.ID, "planner")
	})
	t.Run("but not if the parent is no longer active", func(t *testing.T) {
		p, sub := parent()
		must(inst.s.CompleteTask(inst.ctx(), maya, p.ID, "", 0))
		must(inst.s.CompleteTask(inst.ctx(), coder, sub.ID, "", 0))
		inst.wantNoRun(t, p.ID)
	})
	t.Run("a canceled parent is not woken by its own cascade", func(t *testing.T) {
		p, sub := parent()
		must(inst.s.CancelTask(inst.ctx(), maya, p.ID, ""))
		inst.wantNoRun(t, p.ID)
		inst.wantNoRun(t, sub.ID)
	})
	t.Run("a comment by a person wakes the owner", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "news"))
		inst.wantWoken(t, tk.ID, "coder")
	})
	t.Run("a comment on a draft does not", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft)
		must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "news"))
		inst.wantNoRun(t, tk.ID)
	})
	t.Run("a comment by an agent does not wake the owner", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "news"))
		inst.wantNoRun(t, tk.ID)
	})
	t.Run("a reply wakes the owner", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Ask(inst.ctx(), coder, tk.ID, "?", false))
		inst.wantNoRun(t, tk.ID)
		must(inst.s.Reply(inst.ctx(), oleg, tk.ID, "!"))
		inst.wantWoken(t, tk.ID, "coder")
	})
	t.Run("a move wakes the new owner", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		must(inst.move(coder, tk.ID, "coder", "reviewer", "x"))
		inst.wantWoken(t, tk.ID, "reviewer")
	})
	t.Run("a pull-only owner is not woken", func(t *testing.T) {
		inst.wantNoRun(t, inst.create(maya, "pull").ID)
	})
	t.Run("the owner of a claimed task is not woken", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "news"))
		inst.wantNoRun(t, tk.ID)
	})
	t.Run("nothing wakes while wakes are disabled", func(t *testing.T) {
		quiet := inst.service()
		tk := must(quiet.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder"}))
		inst.wantNoRun(t, tk.ID)
	})
}

func TestAWakeDuringARunCausesOneFollowUp(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	tk := inst.create(maya, "coder")
	st := inst.start()
	for range 3 {
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "news"))
	}
	equal(t, "runs while it runs", len(inst.runs(tk.ID)), 1)
	equal(t, "flag", inst.run(st.Run.ID).FollowUp, true)
	inst.finish(st, completed("did it"))
	equal(t, "runs after it", len(inst.runs(tk.ID)), 2)
	next := inst.start()
	equal(t, "cause", next.Run.Cause, task.CauseFollowUp)
	inst.finish(next, completed("that too"))
	equal(t, "runs at the end", len(inst.runs(tk.ID)), 2)

	t.Run("its own actions do not", func(t *testing.T) {
		tk := inst.create(maya, "planner", steps("a"))
		st := inst.start()
		own := inst.actor(st)
		sub := inst.subtask(own, tk.ID, 0, "pull")
		must(inst.s.CompleteTask(inst.ctx(), own, sub.ID, "", 0))
		inst.finish(st, completed("ok"))
		equal(t, "runs", len(inst.runs(tk.ID)), 1)
	})
	t.Run("with an open question it waits for the answer", func(t *testing.T) {
		tk := inst.create(maya, "coder")
		st := inst.start()
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "news"))
		must(inst.s.Ask(inst.ctx(), inst.actor(st), tk.ID, "?", false))
		inst.finish(st, completed("asked"))
		inst.wantNoRun(t, tk.ID)
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "!"))
		inst.wantWoken(t, tk.ID, "coder")
	})
	t.Run("an answer during the run causes one", func(t *testing.T) {
		tk := inst.create(maya, "coder")
		st := inst.start()
		must(inst.s.Ask(inst.ctx(), inst.actor(st), tk.ID, "?", false))
		must(inst.s.Reply(inst.ctx(), maya, tk.ID, "!"))
		inst.finish(st, completed("asked"))
		equal(t, "cause", inst.openRun(tk.ID).Cause, task.CauseFollowUp)
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, ""))
	})
	t.Run("a run that hands over its task is followed by one of the new owner", func(t *testing.T) {
		tk := inst.create(maya, "coder")
		st := inst.start()
		must(inst.move(inst.actor(st), tk.ID, "coder", "reviewer", "your turn"))
		equal(t, "state", inst.run(st.Run.ID).Status, task.RunRunning)
		inst.finish(st, completed("handed over"))
		r := inst.openRun(tk.ID)
		equal(t, "agent", r.Agent, "reviewer")
		equal(t, "cause", r.Cause, task.CauseFollowUp)
	})
}

func TestTheWakeBudget(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove, func(c *Config) { c.WakeBudget = 3 })
	tk := inst.create(maya, "coder", noStart)
	wake := func() {
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "news"))
		if r := inst.openRun(tk.ID); r != nil {
			must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		}
	}
	for range 5 {
		wake()
	}
	equal(t, "runs within the hour", len(inst.runs(tk.ID)), 3)
	equal(t, "event", last(inst.kinds(tk.ID)), task.EvWakeSkipped)
	t.Run("ticks and people are not limited by it", func(t *testing.T) {
		r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		equal(t, "tick", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 1)
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, ""))
	})
	t.Run("an hour later it wakes again", func(t *testing.T) {
		inst.Forward(time.Hour)
		wake()
		equal(t, "runs", len(inst.runs(tk.ID)), 6)
	})
}
