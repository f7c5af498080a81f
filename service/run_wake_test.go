package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// woken checks that the task has one queued run by a wake, and ends it.
func (y *instance) woken(t *testing.T, id task.ID, agent string) {
	t.Helper()
	r := y.openRun(id)
	if r == nil {
		t.Fatalf("no run was made; events: %v", y.kinds(id))
	}
	equal(t, "cause", r.Cause, task.CauseWake)
	equal(t, "agent", r.Agent, agent)
	must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
}

func (y *instance) asleep(t *testing.T, id task.ID) {
	t.Helper()
	if r := y.openRun(id); r != nil {
		t.Fatalf("run %d (%s) was made", r.ID, r.Cause)
	}
}

func TestWakes(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	t.Run("a task created active wakes its owner", func(t *testing.T) {
		y.woken(t, y.create(maya, "coder").ID, "coder")
	})
	t.Run("not with start false, and not as a draft", func(t *testing.T) {
		y.asleep(t, y.create(maya, "coder", noStart).ID)
		y.asleep(t, y.create(maya, "coder", draft).ID)
	})
	t.Run("a draft that is started wakes its owner", func(t *testing.T) {
		tk := y.create(maya, "coder", draft)
		must(y.patchStatus(tk.ID, "active"))
		y.woken(t, tk.ID, "coder")
	})
	parent := func() (*task.Task, *task.Task) {
		p := y.create(maya, "planner", noStart, steps("a"))
		return p, y.subtask(maya, p.ID, 0, "coder", noStart)
	}
	t.Run("a subtask that is done wakes the parent's owner", func(t *testing.T) {
		p, sub := parent()
		must(y.s.CompleteTask(y.ctx(), coder, sub.ID, "", 0))
		y.woken(t, p.ID, "planner")
	})
	t.Run("a subtask that is canceled wakes the parent's owner", func(t *testing.T) {
		p, sub := parent()
		must(y.s.CancelTask(y.ctx(), coder, sub.ID, ""))
		y.woken(t, p.ID, "planner")
	})
	t.Run("but not of a parent that is no longer active", func(t *testing.T) {
		p, sub := parent()
		must(y.s.CompleteTask(y.ctx(), maya, p.ID, "", 0))
		must(y.s.CompleteTask(y.ctx(), coder, sub.ID, "", 0))
		y.asleep(t, p.ID)
	})
	t.Run("a canceled parent is not woken by its own cascade", func(t *testing.T) {
		p, sub := parent()
		must(y.s.CancelTask(y.ctx(), maya, p.ID, ""))
		y.asleep(t, p.ID)
		y.asleep(t, sub.ID)
	})
	t.Run("a comment by a person wakes the owner", func(t *testing.T) {
		tk := y.create(maya, "coder", noStart)
		must(y.s.Comment(y.ctx(), oleg, tk.ID, "news"))
		y.woken(t, tk.ID, "coder")
	})
	t.Run("a comment on a draft does not", func(t *testing.T) {
		tk := y.create(maya, "coder", draft)
		must(y.s.Comment(y.ctx(), oleg, tk.ID, "news"))
		y.asleep(t, tk.ID)
	})
	t.Run("a comment by an agent wakes nobody", func(t *testing.T) {
		tk := y.create(maya, "coder", noStart)
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "news"))
		y.asleep(t, tk.ID)
	})
	t.Run("a reply wakes the owner", func(t *testing.T) {
		tk := y.create(maya, "coder", noStart)
		must(y.s.Ask(y.ctx(), coder, tk.ID, "?", false))
		y.asleep(t, tk.ID)
		must(y.s.Reply(y.ctx(), oleg, tk.ID, "!"))
		y.woken(t, tk.ID, "coder")
	})
	t.Run("a move wakes the new owner", func(t *testing.T) {
		tk := y.working(coder)
		must(y.move(coder, tk.ID, "coder", "reviewer", "x"))
		y.woken(t, tk.ID, "reviewer")
	})
	t.Run("a pull-only owner is left alone", func(t *testing.T) {
		y.asleep(t, y.create(maya, "pull").ID)
	})
	t.Run("a claimed task is left alone", func(t *testing.T) {
		tk := y.working(coder)
		must(y.s.Comment(y.ctx(), oleg, tk.ID, "news"))
		y.asleep(t, tk.ID)
	})
	t.Run("without wakes nothing wakes", func(t *testing.T) {
		quiet := y.service()
		tk := must(quiet.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "coder"}))
		y.asleep(t, tk.ID)
	})
}

func TestAWakeDuringARunMakesOneFollowUp(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	tk := y.create(maya, "coder")
	st := y.start()
	for range 3 {
		must(y.s.Comment(y.ctx(), maya, tk.ID, "news"))
	}
	equal(t, "runs while it runs", len(y.runs(tk.ID)), 1)
	equal(t, "flag", y.run(st.Run.ID).FollowUp, true)
	y.finish(st, completed("did it"))
	equal(t, "runs after it", len(y.runs(tk.ID)), 2)
	next := y.start()
	equal(t, "cause", next.Run.Cause, task.CauseFollowUp)
	y.finish(next, completed("that too"))
	equal(t, "runs at the end", len(y.runs(tk.ID)), 2)

	t.Run("its own doings do not", func(t *testing.T) {
		tk := y.create(maya, "planner", steps("a"))
		st := y.start()
		own := y.actor(st)
		sub := y.subtask(own, tk.ID, 0, "pull")
		must(y.s.CompleteTask(y.ctx(), own, sub.ID, "", 0))
		y.finish(st, completed("ok"))
		equal(t, "runs", len(y.runs(tk.ID)), 1)
	})
	t.Run("a question that stays open has it wait for the answer", func(t *testing.T) {
		tk := y.create(maya, "coder")
		st := y.start()
		must(y.s.Comment(y.ctx(), maya, tk.ID, "news"))
		must(y.s.Ask(y.ctx(), y.actor(st), tk.ID, "?", false))
		y.finish(st, completed("asked"))
		y.asleep(t, tk.ID)
		must(y.s.Reply(y.ctx(), maya, tk.ID, "!"))
		y.woken(t, tk.ID, "coder")
	})
	t.Run("an answer during the run makes one", func(t *testing.T) {
		tk := y.create(maya, "coder")
		st := y.start()
		must(y.s.Ask(y.ctx(), y.actor(st), tk.ID, "?", false))
		must(y.s.Reply(y.ctx(), maya, tk.ID, "!"))
		y.finish(st, completed("asked"))
		equal(t, "cause", y.openRun(tk.ID).Cause, task.CauseFollowUp)
		must(y.s.CancelRun(y.ctx(), maya, y.openRun(tk.ID).ID, ""))
	})
	t.Run("a run that hands its task over is followed by one of the new owner", func(t *testing.T) {
		tk := y.create(maya, "coder")
		st := y.start()
		must(y.move(y.actor(st), tk.ID, "coder", "reviewer", "your turn"))
		equal(t, "state", y.run(st.Run.ID).Status, task.RunRunning)
		y.finish(st, completed("handed over"))
		r := y.openRun(tk.ID)
		equal(t, "agent", r.Agent, "reviewer")
		equal(t, "cause", r.Cause, task.CauseFollowUp)
	})
}

func TestTheWakeBudget(t *testing.T) {
	y := newInstance(t, wakes, noApprove, func(c *Config) { c.WakeBudget = 3 })
	tk := y.create(maya, "coder", noStart)
	wake := func() {
		must(y.s.Comment(y.ctx(), maya, tk.ID, "news"))
		if r := y.openRun(tk.ID); r != nil {
			must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		}
	}
	for range 5 {
		wake()
	}
	equal(t, "runs within the hour", len(y.runs(tk.ID)), 3)
	equal(t, "event", last(y.kinds(tk.ID)), task.EvWakeSkipped)
	t.Run("ticks and people are not bounded by it", func(t *testing.T) {
		r := must(y.s.RunNow(y.ctx(), maya, tk.ID))
		must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		equal(t, "tick", must(y.s.Tick(y.ctx(), "cron")).Queued, 1)
		must(y.s.CancelRun(y.ctx(), maya, y.openRun(tk.ID).ID, ""))
	})
	t.Run("an hour later it wakes again", func(t *testing.T) {
		y.Forward(time.Hour)
		wake()
		equal(t, "runs", len(y.runs(tk.ID)), 6)
	})
}
