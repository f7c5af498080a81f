package service

import (
	"testing"

	"taskyard/task"
)

// deniedTask creates a task whose run a reviewer denied.
func (inst *instance) deniedTask(a task.Actor, owner string) *task.Task {
	inst.t.Helper()
	tk := inst.create(a, owner)
	must(inst.s.DenyRun(inst.ctx(), rita, inst.openRun(tk.ID).ID, "never do this", 0))
	return tk
}

func TestARunOfAnAgentThatAlwaysNeedsApprovalClaimsNothing(t *testing.T) {
	t.Parallel()
	always := func(c *Config) { c.Policy = task.ApproveAlways }
	// approved starts an approved run and creates another, unclaimed task.
	approved := func(inst *instance) (own task.Actor, mine, free *task.Task) {
		mine, free = inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart)
		inst.approve(inst.requestRun(mine.ID).ID, task.ScopeOnce)
		return inst.actor(inst.start()), mine, free
	}
	t.Run("neither a denied task nor one that was never submitted for approval", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, wakes, always)
		own, _, free := approved(inst)
		no := inst.deniedTask(maya, "coder")
		equal(t, "signup", len(must(inst.s.Signup(inst.ctx(), own, "coder", 2))), 0)
		equal(t, "auto-signup", len(must(inst.s.AutoSignup(inst.ctx(), own, "coder", 5)).Tasks), 0)
		for _, id := range []task.ID{free.ID, no.ID} {
			_, err := inst.s.CompleteTask(inst.ctx(), own, id, "done it", 0)
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("nor the next task when it completes its own", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, always)
		own, mine, _ := approved(inst)
		out := must(inst.s.CompleteAndSignup(inst.ctx(), own, "coder", mine.ID, "done", 0))
		equal(t, "completed", out.Completed.Status, task.Done)
		equal(t, "claimed", out.Task, nil)
	})
	t.Run("nor by ID a task that it created", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, always)
		inst.define("coder", definition("tools: read, task", "runner: script"))
		own, _, _ := approved(inst)
		made := inst.create(own, "coder", noStart)
		_, err := inst.s.UpdateTask(inst.ctx(), own, made.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "its own run", "approve")
	})
	t.Run("outside a run the agent claims as usual", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, always)
		_, _, free := approved(inst)
		equal(t, "task", inst.signup(coder).ID, free.ID)
	})
}

func TestARunLeavesFailedAndDeniedTasksToPeople(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, task.Actor) {
		inst := newInstance(t, wakes)
		inst.define("coder", definition("tools: read, edit, task", "runner: script"))
		_, _, own := inst.inRun("coder")
		return inst, own
	}
	t.Run("a task that it created and a reviewer denied", func(t *testing.T) {
		t.Parallel()
		inst, own := begin(t)
		tk := inst.deniedTask(own, "coder")
		equal(t, "signup", len(must(inst.s.Signup(inst.ctx(), own, "coder", 1))), 0)
		_, err := inst.s.UpdateTask(inst.ctx(), own, tk.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "failed or was denied", "a person")
		for _, done := range []func() error{
			func() error { return onlyErr(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "done it", 0)) },
			func() error { return onlyErr(inst.s.CompleteAndSignup(inst.ctx(), own, "coder", tk.ID, "done it", 0)) },
			func() error {
				return onlyErr(inst.s.UpdateTask(inst.ctx(), own, tk.ID, task.Patch{Status: ptr("done")}))
			},
		} {
			refused(t, done(), task.CodeTaskGated, "was denied", "cancel it")
		}
		equal(t, "status", inst.task(tk.ID).Status, task.Active)
	})
	t.Run("it may cancel such a task", func(t *testing.T) {
		t.Parallel()
		inst, own := begin(t)
		tk := inst.deniedTask(own, "coder")
		must(inst.s.CancelTask(inst.ctx(), own, tk.ID, "rita said no"))
	})
	t.Run("a person may run it again and complete it", func(t *testing.T) {
		t.Parallel()
		inst, own := begin(t)
		tk := inst.deniedTask(own, "coder")
		must(inst.s.RetryRun(inst.ctx(), maya, inst.runs(tk.ID)[0].ID))
		must(inst.s.CompleteTask(inst.ctx(), maya, inst.deniedTask(own, "coder").ID, "", 0))
	})
	t.Run("a failed task", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		inst.define("coder", definition("tools: read", "runner: script", "max_parallel: 2"))
		stuck := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, stuck.ID))
		f := failure(task.PhaseError)
		f.Permanent = true
		inst.finish(inst.start(), f)
		_, _, own := inst.inRun("coder")
		if got := inst.signup(own); got != nil {
			t.Errorf("got task %d", got.ID)
		}
		equal(t, "task, outside a run", inst.signup(coder).ID, stuck.ID)
	})
	t.Run("it claims tasks that it created and no one denied", func(t *testing.T) {
		t.Parallel()
		inst, own := begin(t)
		one, two := inst.create(own, "coder", noStart), inst.create(own, "coder", noStart)
		equal(t, "signup", inst.signup(own).ID, one.ID)
		equal(t, "by ID", must(inst.s.UpdateTask(inst.ctx(), own, two.ID, task.Patch{Status: ptr("working")})).WorkStatus, task.Working)
		must(inst.s.CompleteTask(inst.ctx(), own, two.ID, "", 0))
	})
	t.Run("it does not claim by ID a task that another agent changed", func(t *testing.T) {
		t.Parallel()
		inst, own := begin(t)
		tk := inst.create(own, "coder", noStart)
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "and rm -rf"))
		_, err := inst.s.UpdateTask(inst.ctx(), own, tk.ID, task.Patch{Status: ptr("working")})
		refused(t, err, task.CodeTaskGated, "its own run")
	})
}
