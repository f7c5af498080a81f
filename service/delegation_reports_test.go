package service

import (
	"testing"

	"taskyard/task"
)

// What a run was told is known on every server and after a restart, so that its agent
// does not pay for another run.
func TestServersShareWhatAParentWasTold(t *testing.T) {
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
	// follows completes the parent and reports whether another run follows.
	follows := func(sc *scene, st *Start) bool {
		sc.finish(st, completed("through"))
		return sc.openRun(sc.tk.ID) != nil
	}
	t.Run("by the response of another server", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		other := sc.service(noApprove, wakes)
		equal(t, "summary", must(other.DelegatedRun(sc.ctx(), sc.own, sc.child.Run.ID, 0)).Summary, "found")
		equal(t, "another run", follows(sc, sc.parent), false)
	})
	t.Run("when it was told twice with the same key", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		for range 2 {
			ctx, _ := sc.keyed("boss", "k", "r")
			equal(t, "summary", must(sc.s.DelegatedRun(ctx, sc.own, sc.child.Run.ID, 0)).Summary, "found")
		}
		equal(t, "another run", follows(sc, sc.parent), false)
	})
	t.Run("not when another agent or a person was told", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		sc.delegated(maya, sc.child.Run.ID)
		equal(t, "another run", follows(sc, sc.parent), true)
	})
	t.Run("not for a result later than the one it was told", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, func(c *Config) { c.Attempts = 1 })
		sc.finish(sc.child, failure(task.PhaseCrash))
		equal(t, "success", sc.delegated(sc.own, sc.child.Run.ID).Success, false)
		must(sc.s.RunNow(sc.ctx(), maya, sc.child.Run.TaskID))
		sc.finish(sc.start(), completed("found after all"))
		equal(t, "another run", follows(sc, sc.parent), true)
	})
	t.Run("not for what it was told before a restart of the run", func(t *testing.T) {
		t.Parallel()
		sc := begin(t)
		sc.finish(sc.child, completed("found"))
		sc.delegated(sc.own, sc.child.Run.ID)
		ok(t, sc.s.RequeueRun(sc.ctx(), sc.parent.Run.ID, sc.parent.Run.Lease))
		equal(t, "another run", follows(sc, sc.start()), true)
	})
}
