package service

import (
	"testing"

	"taskyard/task"
)

// inRun starts a run of a new task and returns it with its own actor.
func (inst *instance) inRun(agent string, with ...func(*task.New)) (*task.Task, *Start, task.Actor) {
	inst.t.Helper()
	tk := inst.create(maya, agent, append(with, noStart)...)
	st := inst.runTask(tk.ID)
	return tk, st, inst.actor(st)
}

func TestARunMayEndItsOwnTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	tk, st, own := inst.inRun("coder")
	must(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "that was it", 0))
	equal(t, "state", inst.run(st.Run.ID).Status, task.RunRunning)
	t.Run("and still append to its transcript", func(t *testing.T) {
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease,
			[]task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "bye"}}))
	})
	t.Run("and finish", func(t *testing.T) {
		inst.finish(st, completed("done"))
		equal(t, "state", inst.run(st.Run.ID).State(), task.State{Status: task.RunCompleted, Phase: task.PhaseEnded})
		lines := must(inst.s.Transcript(inst.ctx(), vera, st.Run.ID, 0, 10))
		equal(t, "last line", last(lines).Content, "done")
	})
	t.Run("but not after its end", func(t *testing.T) {
		err := inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Content: "one more"}})
		refused(t, err, task.CodeStaleLease)
	})
	t.Run("a failure after the task is done is not retried", func(t *testing.T) {
		tk, st, own := inst.inRun("coder")
		must(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "", 0))
		inst.finish(st, failure(task.PhaseError))
		equal(t, "runs", len(inst.runs(tk.ID)), 1)
	})
	t.Run("a run is stopped when another caller ends its task", func(t *testing.T) {
		tk, st, _ := inst.inRun("coder")
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
		equal(t, "state", inst.run(st.Run.ID).State(), task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		_, err := inst.s.Authenticate(inst.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
	})
}

func TestAnEndedRunHasNoClaims(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	other, done, taken := inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart)
	_, st, own := inst.inRun("coder")
	equal(t, "claimed by the run", len(must(inst.s.Signup(inst.ctx(), own, "coder", 3))), 3)
	must(inst.s.CompleteTask(inst.ctx(), own, done.ID, "", 0))
	must(inst.s.ReleaseClaim(inst.ctx(), own, taken.ID, 0))
	equal(t, "claimed by another", inst.signup(coder).ID, taken.ID)
	inst.finish(st, completed("I leave the rest."))
	equal(t, "claim of another task after the run's end", inst.task(other.ID).Claim, nil)
	equal(t, "holder of a task that another agent claimed since", inst.task(taken.ID).Claim.Holder, "coder")
	equal(t, "claimed again", inst.signup(coder).ID, other.ID)
}

func TestARunMayNotChangeItsParentTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	top := inst.create(maya, "planner", noStart, steps("a", "b"))
	mid := inst.subtask(maya, top.ID, 0, "planner", noStart, steps("a", "b"))
	low := inst.subtask(maya, mid.ID, 0, "planner", noStart, steps("a"))
	must(inst.s.RunNow(inst.ctx(), maya, low.ID))
	own := inst.actor(inst.start())
	for _, above := range []task.ID{mid.ID, top.ID} {
		for name, call := range map[string]func() error{
			"update": func() error {
				_, err := inst.s.UpdateTask(inst.ctx(), own, above, task.Patch{Priority: ptr(1)})
				return err
			},
			"complete": func() error { _, err := inst.s.CompleteTask(inst.ctx(), own, above, "", 0); return err },
			"cancel":   func() error { _, err := inst.s.CancelTask(inst.ctx(), own, above, ""); return err },
			"steps": func() error {
				_, err := inst.s.UpdateStep(inst.ctx(), own, above, 0, task.StepPatch{Done: ptr(true)})
				return err
			},
			"resource": func() error {
				_, err := inst.s.AddResource(inst.ctx(), own, above, task.Resource{Type: "file", Value: "/a"})
				return err
			},
			"subtask": func() error {
				_, err := inst.s.CreateSubtask(inst.ctx(), own, above, 1, task.New{Title: "x"})
				return err
			},
			"run": func() error { _, err := inst.s.RunNow(inst.ctx(), own, above); return err },
			"ask": func() error { _, err := inst.s.Ask(inst.ctx(), own, above, "?", false); return err },
			"reassign": func() error {
				_, err := inst.s.Reassign(inst.ctx(), own, "planner", []task.ID{above}, "coder", "x")
				return err
			},
			"complete and sign up": func() error {
				_, err := inst.s.CompleteAndSignup(inst.ctx(), own, "planner", above, "", 0)
				return err
			},
		} {
			t.Run(name+" of task "+above.String(), func(t *testing.T) {
				last := inst.lastEvent()
				refused(t, call(), task.CodeForbidden, "above it")
				equal(t, "last event", inst.lastEvent(), last)
			})
		}
	}
	t.Run("it may change its own task and comment anywhere", func(t *testing.T) {
		must(inst.s.UpdateTask(inst.ctx(), own, low.ID, task.Patch{Priority: ptr(1)}))
		must(inst.s.Comment(inst.ctx(), own, top.ID, "news from below"))
	})
}

func TestARunMayNotChangeTheTaskOfAnotherRun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	_, _, own := inst.inRun("reviewer")
	tk, st, theirs := inst.inRun("reviewer")
	for name, call := range map[string]func() error{
		"update": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), own, tk.ID, task.Patch{Priority: ptr(1)})
			return err
		},
		"complete": func() error { _, err := inst.s.CompleteTask(inst.ctx(), own, tk.ID, "", 0); return err },
		"cancel":   func() error { _, err := inst.s.CancelTask(inst.ctx(), own, tk.ID, ""); return err },
		"ask":      func() error { _, err := inst.s.Ask(inst.ctx(), own, tk.ID, "?", false); return err },
		"reassign": func() error {
			_, err := inst.s.Reassign(inst.ctx(), own, "reviewer", []task.ID{tk.ID}, "coder", "x")
			return err
		},
		"complete and sign up": func() error {
			_, err := inst.s.CompleteAndSignup(inst.ctx(), own, "reviewer", tk.ID, "", 0)
			return err
		},
		"cancel its run": func() error { _, err := inst.s.CancelRun(inst.ctx(), own, st.Run.ID, ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil {
				t.Error("got no error")
			}
			equal(t, "state", inst.run(st.Run.ID).Status, task.RunRunning)
		})
	}
	t.Run("the task's own run still may", func(t *testing.T) {
		must(inst.s.CompleteTask(inst.ctx(), theirs, tk.ID, "done", 0))
	})
}

func TestCreatingTasksInARunRequiresTheToolTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("an agent without the tool creates nothing", func(t *testing.T) {
		tk, _, own := inst.inRun("coder", steps("a"))
		inst.unchanged(t, func() {
			_, err := inst.s.CreateTask(inst.ctx(), own, task.New{Title: "x", Owner: "coder"})
			refused(t, err, task.CodeForbidden, "coder", "tool task")
			_, err = inst.s.CreateSubtask(inst.ctx(), own, tk.ID, 0, task.New{Title: "x"})
			refused(t, err, task.CodeForbidden, "coder", "tool task")
		})
	})
	t.Run("outside a run it may", func(t *testing.T) { inst.create(coder, "coder", noStart) })
	t.Run("an agent with the tool creates tasks and subtasks", func(t *testing.T) {
		tk, _, own := inst.inRun("planner", steps("a"))
		inst.create(own, "pull", noStart)
		equal(t, "created by", inst.subtask(own, tk.ID, 0, "pull", noStart).CreatedBy, "planner")
	})
}
