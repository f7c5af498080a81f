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
		sc := &scene{instance: delegating(t, append(with, wakes)...)}
		sc.tk, sc.parent, sc.own = sc.inRun("boss")
		sc.delegate(sc.own, task.Delegation{})
		sc.child = sc.start()
		return sc
	}
	// follows completes the parent, and reports whether one more run of it follows.
	follows := func(sc *scene, st *Start) bool {
		sc.finish(st, completed("through"))
		return sc.openRun(sc.tk.ID) != nil
	}
	t.Run("by the answer of another server", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		other := sc.service(noApprove, wakes)
		equal(t, "summary", must(other.DelegatedRun(sc.ctx(), sc.own, sc.child.Run.ID, 0)).Summary, "found")
		equal(t, "one more run", follows(sc, sc.parent), false)
	})
	t.Run("when it was told twice, with the same key", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		for range 2 {
			ctx, _ := sc.keyed("boss", "k", "r")
			equal(t, "summary", must(sc.s.DelegatedRun(ctx, sc.own, sc.child.Run.ID, 0)).Summary, "found")
		}
		equal(t, "one more run", follows(sc, sc.parent), false)
	})
	t.Run("not that another agent or a person was told", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		sc.delegated(maya, sc.child.Run.ID)
		equal(t, "one more run", follows(sc, sc.parent), true)
	})
	t.Run("not of a result that came after the one that it was told", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, func(c *Config) { c.Attempts = 1 })
		sc.finish(sc.child, failure(task.PhaseCrash))
		equal(t, "success", sc.delegated(sc.own, sc.child.Run.ID).Success, false)
		must(sc.s.RunNow(sc.ctx(), maya, sc.child.Run.TaskID))
		sc.finish(sc.start(), completed("found after all"))
		equal(t, "one more run", follows(sc, sc.parent), true)
	})
	t.Run("not of what it was told before it was started again", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		sc.delegated(sc.own, sc.child.Run.ID)
		ok(t, sc.s.RequeueRun(sc.ctx(), sc.parent.Run.ID, sc.parent.Run.Lease))
		equal(t, "one more run", follows(sc, sc.start()), true)
	})
}
