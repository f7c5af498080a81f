package service

import (
	"testing"

	"taskyard/task"
)

// inRun starts a run of a new task and returns it with its own actor.
func (y *instance) inRun(agent string, with ...func(*task.New)) (*task.Task, *Start, task.Actor) {
	y.t.Helper()
	tk := y.create(maya, agent, append(with, noStart)...)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	return tk, st, y.actor(st)
}

func TestARunMayEndItsOwnTask(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	tk, st, own := y.inRun("coder")
	must(y.s.CompleteTask(y.ctx(), own, tk.ID, "that was it", 0))
	equal(t, "state", y.run(st.Run.ID).Status, task.RunRunning)
	t.Run("and still append its last words", func(t *testing.T) {
		ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "bye"}}))
	})
	t.Run("and finish", func(t *testing.T) {
		y.finish(st, completed("done"))
		equal(t, "state", y.run(st.Run.ID).State(), task.State{Status: task.RunCompleted, Phase: task.PhaseEnded})
		lines := must(y.s.Transcript(y.ctx(), vera, st.Run.ID, 0, 10))
		equal(t, "last line", last(lines).Content, "done")
	})
	t.Run("but nothing after its end", func(t *testing.T) {
		err := y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Content: "one more"}})
		refused(t, err, task.CodeStaleLease)
	})
	t.Run("a failure after the task was done makes no retry", func(t *testing.T) {
		tk, st, own := y.inRun("coder")
		must(y.s.CompleteTask(y.ctx(), own, tk.ID, "", 0))
		y.finish(st, failure(task.PhaseError))
		equal(t, "runs", len(y.runs(tk.ID)), 1)
	})
	t.Run("a run whose task somebody else ends is stopped", func(t *testing.T) {
		tk, st, _ := y.inRun("coder")
		must(y.s.CompleteTask(y.ctx(), maya, tk.ID, "", 0))
		equal(t, "state", y.run(st.Run.ID).State(), task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		_, err := y.s.Authenticate(y.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
	})
}

func TestARunThatEndsHoldsNoClaimOfOtherTasks(t *testing.T) {
	y := newInstance(t, noApprove)
	other, done, taken := y.create(maya, "coder", noStart), y.create(maya, "coder", noStart), y.create(maya, "coder", noStart)
	_, st, own := y.inRun("coder")
	equal(t, "claimed by the run", len(must(y.s.Signup(y.ctx(), own, "coder", 3))), 3)
	must(y.s.CompleteTask(y.ctx(), own, done.ID, "", 0))
	must(y.s.ReleaseClaim(y.ctx(), own, taken.ID, 0))
	equal(t, "claimed by another", y.signup(coder).ID, taken.ID)
	y.finish(st, completed("I leave the rest."))
	equal(t, "the claim of a task that the run left", y.task(other.ID).Claim, nil)
	equal(t, "the holder of one that another claimed since", y.task(taken.ID).Claim.Holder, "coder")
	equal(t, "claimed again", y.signup(coder).ID, other.ID)
}

func TestARunMayNotChangeTheTaskAboveIt(t *testing.T) {
	y := newInstance(t)
	top := y.create(maya, "planner", noStart, steps("a", "b"))
	mid := y.subtask(maya, top.ID, 0, "planner", noStart, steps("a", "b"))
	low := y.subtask(maya, mid.ID, 0, "planner", noStart, steps("a"))
	must(y.s.RunNow(y.ctx(), maya, low.ID))
	own := y.actor(y.start())
	for _, above := range []task.ID{mid.ID, top.ID} {
		for name, call := range map[string]func() error{
			"update":   func() error { _, err := y.s.UpdateTask(y.ctx(), own, above, task.Patch{Priority: ptr(1)}); return err },
			"complete": func() error { _, err := y.s.CompleteTask(y.ctx(), own, above, "", 0); return err },
			"cancel":   func() error { _, err := y.s.CancelTask(y.ctx(), own, above, ""); return err },
			"steps": func() error {
				_, err := y.s.UpdateStep(y.ctx(), own, above, 0, task.StepPatch{Done: ptr(true)})
				return err
			},
			"resource": func() error {
				_, err := y.s.AddResource(y.ctx(), own, above, task.Resource{Type: "file", Value: "/a"})
				return err
			},
			"subtask": func() error { _, err := y.s.CreateSubtask(y.ctx(), own, above, 1, task.New{Title: "x"}); return err },
			"run":     func() error { _, err := y.s.RunNow(y.ctx(), own, above); return err },
			"ask":     func() error { _, err := y.s.Ask(y.ctx(), own, above, "?", false); return err },
			"reassign": func() error {
				_, err := y.s.Reassign(y.ctx(), own, "planner", []task.ID{above}, "coder", "x")
				return err
			},
			"complete and sign up": func() error {
				_, err := y.s.CompleteAndSignup(y.ctx(), own, "planner", above, "", 0)
				return err
			},
		} {
			t.Run(name+" of task "+above.String(), func(t *testing.T) {
				last := y.lastEvent()
				refused(t, call(), task.CodeForbidden, "above it")
				equal(t, "last event", y.lastEvent(), last)
			})
		}
	}
	t.Run("its own task it may change, and comment anywhere", func(t *testing.T) {
		must(y.s.UpdateTask(y.ctx(), own, low.ID, task.Patch{Priority: ptr(1)}))
		must(y.s.Comment(y.ctx(), own, top.ID, "news from below"))
	})
}

func TestARunMayNotChangeTheTaskOfAnotherRun(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	_, _, own := y.inRun("reviewer")
	tk, st, theirs := y.inRun("reviewer")
	for name, call := range map[string]func() error{
		"update":   func() error { _, err := y.s.UpdateTask(y.ctx(), own, tk.ID, task.Patch{Priority: ptr(1)}); return err },
		"complete": func() error { _, err := y.s.CompleteTask(y.ctx(), own, tk.ID, "", 0); return err },
		"cancel":   func() error { _, err := y.s.CancelTask(y.ctx(), own, tk.ID, ""); return err },
		"ask":      func() error { _, err := y.s.Ask(y.ctx(), own, tk.ID, "?", false); return err },
		"reassign": func() error {
			_, err := y.s.Reassign(y.ctx(), own, "reviewer", []task.ID{tk.ID}, "coder", "x")
			return err
		},
		"complete and sign up": func() error {
			_, err := y.s.CompleteAndSignup(y.ctx(), own, "reviewer", tk.ID, "", 0)
			return err
		},
		"cancel its run": func() error { _, err := y.s.CancelRun(y.ctx(), own, st.Run.ID, ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil {
				t.Error("it was allowed")
			}
			equal(t, "state", y.run(st.Run.ID).Status, task.RunRunning)
		})
	}
	t.Run("its own run still may", func(t *testing.T) {
		must(y.s.CompleteTask(y.ctx(), theirs, tk.ID, "done", 0))
	})
}

func TestTasksInsideARunNeedTheToolTask(t *testing.T) {
	y := newInstance(t)
	t.Run("an agent without it creates nothing", func(t *testing.T) {
		tk, _, own := y.inRun("coder", steps("a"))
		y.unchanged(t, func() {
			_, err := y.s.CreateTask(y.ctx(), own, task.New{Title: "x", Owner: "coder"})
			refused(t, err, task.CodeForbidden, "coder", "tool task")
			_, err = y.s.CreateSubtask(y.ctx(), own, tk.ID, 0, task.New{Title: "x"})
			refused(t, err, task.CodeForbidden, "coder", "tool task")
		})
	})
	t.Run("outside a run it may", func(t *testing.T) { y.create(coder, "coder", noStart) })
	t.Run("an agent with it creates tasks and subtasks", func(t *testing.T) {
		tk, _, own := y.inRun("planner", steps("a"))
		y.create(own, "pull", noStart)
		equal(t, "created by", y.subtask(own, tk.ID, 0, "pull", noStart).CreatedBy, "planner")
	})
}
