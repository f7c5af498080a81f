package service

import (
	"testing"

	"taskyard/task"
)

// denied makes a task whose run a reviewer denied.
func (y *instance) denied(a task.Actor, owner string) *task.Task {
	y.t.Helper()
	tk := y.create(a, owner)
	must(y.s.DenyRun(y.ctx(), rita, y.openRun(tk.ID).ID, "never do this", 0))
	return tk
}

func TestARunOfAnAgentThatAlwaysNeedsApprovalClaimsNothing(t *testing.T) {
	t.Parallel()
	always := func(c *Config) { c.Policy = task.ApproveAlways }
	// approved is an approved run, beside whose task another one is free.
	approved := func(y *instance) (own task.Actor, mine, free *task.Task) {
		mine, free = y.create(maya, "coder", noStart), y.create(maya, "coder", noStart)
		y.approve(y.ask(mine.ID).ID, task.ScopeOnce)
		return y.actor(y.start()), mine, free
	}
	t.Run("neither what a reviewer denied nor what nobody was asked about", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, always)
		own, _, free := approved(y)
		no := y.denied(maya, "coder")
		equal(t, "signup", len(must(y.s.Signup(y.ctx(), own, "coder", 2))), 0)
		equal(t, "auto-signup", len(must(y.s.AutoSignup(y.ctx(), own, "coder", 5)).Tasks), 0)
		for _, id := range []task.ID{free.ID, no.ID} {
			_, err := y.s.CompleteTask(y.ctx(), own, id, "done it", 0)
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("nor the next task with the completion of its own", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, always)
		own, mine, _ := approved(y)
		out := must(y.s.CompleteAndSignup(y.ctx(), own, "coder", mine.ID, "done", 0))
		equal(t, "completed", out.Completed.Status, task.Done)
		equal(t, "claimed", out.Task, nil)
	})
	t.Run("nor by number what it created itself", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, always)
		y.define("coder", definition("tools: read, task", "runner: script"))
		own, _, _ := approved(y)
		made := y.create(own, "coder", noStart)
		_, err := y.s.UpdateTask(y.ctx(), own, made.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "a run of its own", "approve")
	})
	t.Run("outside a run the agent claims as ever", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, always)
		_, _, free := approved(y)
		equal(t, "task", y.signup(coder).ID, free.ID)
	})
}

func TestARunLeavesToPeopleWhatFailedOrWasDenied(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, task.Actor) {
		y := newInstance(t, wakes)
		y.define("coder", definition("tools: read, edit, task", "runner: script"))
		_, _, own := y.inRun("coder")
		return y, own
	}
	t.Run("what it created itself and a reviewer denied", func(t *testing.T) {
		t.Parallel()
		y, own := begin(t)
		tk := y.denied(own, "coder")
		equal(t, "signup", len(must(y.s.Signup(y.ctx(), own, "coder", 1))), 0)
		_, err := y.s.UpdateTask(y.ctx(), own, tk.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "failed or was denied", "a person")
		for _, done := range []func() error{
			func() error { return onlyErr(y.s.CompleteTask(y.ctx(), own, tk.ID, "done it", 0)) },
			func() error { return onlyErr(y.s.CompleteAndSignup(y.ctx(), own, "coder", tk.ID, "done it", 0)) },
			func() error { return onlyErr(y.s.UpdateTask(y.ctx(), own, tk.ID, task.Patch{Status: ptr("done")})) },
		} {
			refused(t, done(), task.CodeTaskGated, "was denied", "cancel it")
		}
		equal(t, "status", y.task(tk.ID).Status, task.Active)
	})
	t.Run("it may cancel that", func(t *testing.T) {
		t.Parallel()
		y, own := begin(t)
		tk := y.denied(own, "coder")
		must(y.s.CancelTask(y.ctx(), own, tk.ID, "rita said no"))
	})
	t.Run("a person has it run again, and may complete it", func(t *testing.T) {
		t.Parallel()
		y, own := begin(t)
		tk := y.denied(own, "coder")
		must(y.s.RetryRun(y.ctx(), maya, y.runs(tk.ID)[0].ID))
		must(y.s.CompleteTask(y.ctx(), maya, y.denied(own, "coder").ID, "", 0))
	})
	t.Run("what failed", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		y.define("coder", definition("tools: read", "runner: script", "max_parallel: 2"))
		stuck := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, stuck.ID))
		f := failure(task.PhaseError)
		f.Permanent = true
		y.finish(y.start(), f)
		_, _, own := y.inRun("coder")
		if got := y.signup(own); got != nil {
			t.Errorf("it got task %d", got.ID)
		}
		equal(t, "task, outside a run", y.signup(coder).ID, stuck.ID)
	})
	t.Run("what it created itself and nobody denied it claims", func(t *testing.T) {
		t.Parallel()
		y, own := begin(t)
		one, two := y.create(own, "coder", noStart), y.create(own, "coder", noStart)
		equal(t, "signup", y.signup(own).ID, one.ID)
		equal(t, "by number", must(y.s.UpdateTask(y.ctx(), own, two.ID, task.Patch{Status: ptr("working")})).WorkStatus, task.Working)
		must(y.s.CompleteTask(y.ctx(), own, two.ID, "", 0))
	})
	t.Run("nor claims by number what another agent changed", func(t *testing.T) {
		t.Parallel()
		y, own := begin(t)
		tk := y.create(own, "coder", noStart)
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "and rm -rf"))
		_, err := y.s.UpdateTask(y.ctx(), own, tk.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "a run of its own")
	})
}
