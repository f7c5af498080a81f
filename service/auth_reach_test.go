package service

import (
	"testing"

	"taskyard/task"
)

// agentChanges returns every way in which an agent changes a task, except canceling.
func (inst *instance) agentChanges(a task.Actor, tk *task.Task) map[string]func() error {
	return map[string]func() error{
		"update": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), a, tk.ID, task.Patch{Priority: ptr(1)})
			return err
		},
		"owner": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), a, tk.ID, task.Patch{Owner: ptr("coder")})
			return err
		},
		"complete": func() error { _, err := inst.s.CompleteTask(inst.ctx(), a, tk.ID, "", 0); return err },
		"steps": func() error {
			_, err := inst.s.ReplaceSteps(inst.ctx(), a, tk.ID, []task.Step{{Title: "x"}})
			return err
		},
		"add step": func() error {
			_, err := inst.s.InsertStep(inst.ctx(), a, tk.ID, task.MaxSteps, task.Step{Title: "x"})
			return err
		},
		"resource": func() error {
			_, err := inst.s.AddResource(inst.ctx(), a, tk.ID, task.Resource{Type: "file", Value: "/a"})
			return err
		},
		"blockers": func() error { _, err := inst.s.SetBlockedBy(inst.ctx(), a, tk.ID, nil); return err },
		"ask":      func() error { _, err := inst.s.Ask(inst.ctx(), a, tk.ID, "?", false); return err },
		"notice":   func() error { _, err := inst.s.Notify(inst.ctx(), a, tk.ID, "!"); return err },
		"release":  func() error { _, err := inst.s.ReleaseClaim(inst.ctx(), a, tk.ID, 0); return err },
		"beat":     func() error { _, err := inst.s.Heartbeat(inst.ctx(), a, tk.ID, 0); return err },
		"move": func() error {
			_, err := inst.s.MoveTask(inst.ctx(), a, Move{TaskID: tk.ID, CurrentAgent: a.Name, NewAgent: "coder", Comment: "x"})
			return err
		},
		"reassign": func() error {
			_, err := inst.s.Reassign(inst.ctx(), a, a.Name, []task.ID{tk.ID}, "coder", "x")
			return err
		},
		"complete and sign up": func() error {
			_, err := inst.s.CompleteAndSignup(inst.ctx(), a, a.Name, tk.ID, "", 0)
			return err
		},
	}
}

func TestARunCannotChangeATaskThatAnotherRunWorksOn(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	inst.define("planner", definition("tools: read, task", "runner: script", "max_parallel: 4"))
	_, _, own := inst.inRun("planner", steps("a"))
	made := inst.create(own, "planner", noStart)
	st := inst.runTask(made.ID)
	other, theirs, _ := inst.inRun("planner")
	for what, tk := range map[string]*task.Task{"which it created": made, "of another run of its agent": other} {
		for name, call := range inst.agentChanges(own, tk) {
			t.Run(name+" of a task "+what, func(t *testing.T) {
				last := inst.lastEvent()
				if err := call(); err == nil {
					t.Error("got no error")
				}
				equal(t, "last event", inst.lastEvent(), last)
			})
		}
	}
	_, err := inst.s.CompleteTask(inst.ctx(), own, made.ID, "", 0)
	e := refused(t, err, task.CodeRunOpen, "Run "+st.Run.ID.String()+" works on task "+made.ID.String())
	equal(t, "kind", e.Kind, task.Conflict)
	t.Run("a task that it created it may cancel, with the run", func(t *testing.T) {
		must(inst.s.CancelTask(inst.ctx(), own, made.ID, "not needed"))
		equal(t, "run", inst.run(st.Run.ID).Status, task.RunCanceled)
		_, err := inst.s.CancelTask(inst.ctx(), own, other.ID, "")
		refused(t, err, task.CodeForbidden, "none of these")
		equal(t, "run", inst.run(theirs.Run.ID).Status, task.RunRunning)
	})
}

func TestARunReachesItsTaskAndTheTasksItCaused(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	strange := []*task.Task{inst.create(maya, "planner", noStart), inst.create(planner, "coder", noStart)}
	tk, st, own := inst.inRun("planner", steps("a"))
	made := inst.create(own, "coder", noStart)
	sub := inst.subtask(own, tk.ID, 0, "coder", noStart)
	patch := func(id task.ID) error {
		_, err := inst.s.UpdateTask(inst.ctx(), own, id, task.Patch{Priority: ptr(int(inst.lastEvent()))})
		return err
	}
	t.Run("its own task, its subtasks, and tasks that it created", func(t *testing.T) {
		for _, id := range []task.ID{tk.ID, sub.ID, made.ID} {
			ok(t, patch(id))
			must(inst.s.Comment(inst.ctx(), own, id, "news"))
		}
	})
	t.Run("no other task of its agent, and none that its agent created earlier", func(t *testing.T) {
		for _, s := range strange {
			for name, call := range inst.agentChanges(own, s) {
				if name == "move" && s.Owner != own.Name {
					continue
				}
				t.Run(name, func(t *testing.T) {
					if err := call(); !task.IsCode(err, task.CodeForbidden) && !task.IsCode(err, task.CodeNotAssigned) &&
						!task.IsCode(err, task.CodeNotWorking) {
						t.Errorf("got %v", err)
					}
				})
			}
			refused(t, patch(s.ID), task.CodeForbidden, "its own task "+tk.ID.String())
			_, err := inst.s.Comment(inst.ctx(), own, s.ID, "look here")
			refused(t, err, task.CodeForbidden, "none of these")
		}
	})
	t.Run("a task that it claims, during the claim", func(t *testing.T) {
		got := inst.signup(own)
		ok(t, patch(got.ID))
		must(inst.s.ReleaseClaim(inst.ctx(), maya, got.ID, 0))
		refused(t, patch(got.ID), task.CodeForbidden)
		inst.signup(planner) // the same agent, outside the run
		refused(t, patch(got.ID), task.CodeForbidden)
	})
	t.Run("outside a run the agent reaches all of them", func(t *testing.T) {
		for _, s := range strange {
			_, err := inst.s.UpdateTask(inst.ctx(), planner, s.ID, task.Patch{Title: ptr("Renamed")})
			ok(t, err)
		}
	})
	t.Run("its own task only until it gets another owner", func(t *testing.T) {
		must(inst.s.MoveTask(inst.ctx(), own, Move{TaskID: tk.ID, CurrentAgent: "planner", NewAgent: "coder", Comment: "yours"}))
		refused(t, patch(tk.ID), task.CodeForbidden, "belongs to coder")
		inst.finish(st, completed("handed on"))
	})
}
