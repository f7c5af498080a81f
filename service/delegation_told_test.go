package service

import (
	"testing"

	"taskyard/task"
)

// What a run was told of is known on every server, and after a restart: it pays
// for no further run of its agent.
func TestEveryServerKnowsWhatAParentWasTold(t *testing.T) {
	t.Parallel()
	type scene struct {
		*instance
		tk            *task.Task
		parent, child *Start
		own           task.Actor
	}
	begin := func(t *testing.T, with ...func(*Config)) *scene {
		y := &scene{instance: delegating(t, append(with, wakes)...)}
		y.tk, y.parent, y.own = y.inRun("boss")
		y.delegate(y.own, task.Delegation{})
		y.child = y.start()
		return y
	}
	// follows completes the parent, and reports whether one more run of it follows.
	follows := func(y *scene, st *Start) bool {
		y.finish(st, completed("through"))
		return y.openRun(y.tk.ID) != nil
	}
	t.Run("by the answer of another server", func(t *testing.T) {
		t.Parallel()
		y := begin(t)
		y.finish(y.child, completed("found"))
		other := y.service(noApprove, wakes)
		equal(t, "summary", must(other.DelegatedRun(y.ctx(), y.own, y.child.Run.ID, 0)).Summary, "found")
		equal(t, "one more run", follows(y, y.parent), false)
	})
	t.Run("when it was told twice, with the same key", func(t *testing.T) {
		t.Parallel()
		y := begin(t)
		y.finish(y.child, completed("found"))
		for range 2 {
			ctx, _ := y.keyed("boss", "k", "r")
			equal(t, "summary", must(y.s.DelegatedRun(ctx, y.own, y.child.Run.ID, 0)).Summary, "found")
		}
		equal(t, "one more run", follows(y, y.parent), false)
	})
	t.Run("not that another agent or a person was told", func(t *testing.T) {
		t.Parallel()
		y := begin(t)
		y.finish(y.child, completed("found"))
		y.delegated(maya, y.child.Run.ID)
		equal(t, "one more run", follows(y, y.parent), true)
	})
	t.Run("not of a result that came after the one that it was told", func(t *testing.T) {
		t.Parallel()
		y := begin(t, func(c *Config) { c.Attempts = 1 })
		y.finish(y.child, failure(task.PhaseCrash))
		equal(t, "success", y.delegated(y.own, y.child.Run.ID).Success, false)
		must(y.s.RunNow(y.ctx(), maya, y.child.Run.TaskID))
		y.finish(y.start(), completed("found after all"))
		equal(t, "one more run", follows(y, y.parent), true)
	})
	t.Run("not of what it was told before it was started again", func(t *testing.T) {
		t.Parallel()
		y := begin(t)
		y.finish(y.child, completed("found"))
		y.delegated(y.own, y.child.Run.ID)
		ok(t, y.s.RequeueRun(y.ctx(), y.parent.Run.ID, y.parent.Run.Lease))
		equal(t, "one more run", follows(y, y.start()), true)
	})
}
