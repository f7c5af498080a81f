package service

import (
	"testing"

	"taskyard/task"
)

// taskWithStatus creates a task with a status and without runs.
func (inst *instance) taskWithStatus(s task.Status) *task.Task {
	inst.t.Helper()
	tk := inst.create(maya, "coder", noStart, func(in *task.New) {
		if s == task.Draft {
			in.Status = task.Draft
		}
	})
	switch s {
	case task.Done:
		return must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0))
	case task.Canceled:
		return must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "")).Task
	}
	return tk
}

func (inst *instance) patchStatus(id task.ID, status string) (*task.Task, error) {
	return inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Status: &status})
}

func TestTaskTransitions(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	allowed := map[task.Status]map[task.Status]bool{
		task.Draft:  {task.Active: true, task.Canceled: true},
		task.Active: {task.Done: true, task.Canceled: true},
	}
	for _, from := range task.Statuses {
		for _, to := range task.Statuses {
			name := string(from) + " cannot become " + string(to)
			if allowed[from][to] {
				name = string(from) + " becomes " + string(to)
			}
			if from == to && !from.Archived() {
				name = string(from) + " stays when it is asked for again"
			}
			t.Run(name, func(t *testing.T) {
				tk := inst.taskWithStatus(from)
				last := inst.lastEvent()
				got, err := inst.patchStatus(tk.ID, string(to))
				switch {
				case from == to && !from.Archived():
					ok(t, err)
					equal(t, "version", got.Version, tk.Version)
				case allowed[from][to]:
					ok(t, err)
					equal(t, "status", got.Status, to)
				default:
					e := refused(t, err, wantCode(from), string(from), string(to))
					equal(t, "kind", e.Kind, task.Conflict)
					equal(t, "last event", inst.lastEvent(), last)
					equal(t, "status", inst.task(tk.ID).Status, from)
				}
			})
		}
	}
}

func wantCode(from task.Status) task.Code {
	if from.Archived() {
		return task.CodeArchived
	}
	return task.CodeTransition
}

func TestCompleteAndCancelFollowTheTable(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, from := range task.Statuses {
		t.Run("complete from "+string(from), func(t *testing.T) {
			tk, err := inst.s.CompleteTask(inst.ctx(), maya, inst.taskWithStatus(from).ID, "all good", 0)
			if from != task.Active {
				refused(t, err, wantCode(from), string(from), "done")
				return
			}
			ok(t, err)
			equal(t, "status", tk.Status, task.Done)
			equal(t, "work status", tk.WorkStatus, task.Complete)
			equal(t, "summary", tk.Summary, "all good")
			equal(t, "archived at", tk.ArchivedAt, inst.s.Now())
		})
		t.Run("cancel from "+string(from), func(t *testing.T) {
			c, err := inst.s.CancelTask(inst.ctx(), maya, inst.taskWithStatus(from).ID, "no more")
			if from.Archived() {
				refused(t, err, task.CodeArchived, string(from), "canceled")
				return
			}
			ok(t, err)
			equal(t, "status", c.Task.Status, task.Canceled)
			equal(t, "work status", c.Task.WorkStatus, task.WorkStatus(""))
		})
	}
}

func TestWorkStatusOnInput(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("working claims the task for its owner", func(t *testing.T) {
		tk := must(inst.patchStatus(inst.taskWithStatus(task.Active).ID, "working"))
		equal(t, "work status", tk.WorkStatus, task.Working)
		equal(t, "holder", tk.Claim.Holder, "coder")
	})
	t.Run("working twice is refused", func(t *testing.T) {
		tk := must(inst.patchStatus(inst.taskWithStatus(task.Active).ID, "working"))
		_, err := inst.patchStatus(tk.ID, "working")
		refused(t, err, task.CodeClaimed, "coder")
	})
	t.Run("idle releases the claim", func(t *testing.T) {
		tk := must(inst.patchStatus(inst.taskWithStatus(task.Active).ID, "working"))
		tk = must(inst.patchStatus(tk.ID, "idle"))
		equal(t, "work status", tk.WorkStatus, task.Idle)
	})
	t.Run("idle without a claim is refused", func(t *testing.T) {
		_, err := inst.patchStatus(inst.taskWithStatus(task.Active).ID, "idle")
		refused(t, err, task.CodeNotWorking, "idle")
	})
	t.Run("complete completes", func(t *testing.T) {
		tk := must(inst.patchStatus(inst.taskWithStatus(task.Active).ID, "complete"))
		equal(t, "status", tk.Status, task.Done)
	})
	t.Run("the error of complete on a draft names both states", func(t *testing.T) {
		_, err := inst.patchStatus(inst.taskWithStatus(task.Draft).ID, "complete")
		refused(t, err, task.CodeTransition, "draft", "done")
	})
	for _, w := range []string{"working", "idle"} {
		t.Run(w+" on a draft is refused", func(t *testing.T) {
			_, err := inst.patchStatus(inst.taskWithStatus(task.Draft).ID, w)
			refused(t, err, task.CodeTransition, "draft", w)
		})
		t.Run(w+" on an archived task is refused", func(t *testing.T) {
			_, err := inst.patchStatus(inst.taskWithStatus(task.Done).ID, w)
			refused(t, err, task.CodeArchived, "done")
		})
	}
	t.Run("complete on an archived task is refused", func(t *testing.T) {
		_, err := inst.patchStatus(inst.taskWithStatus(task.Canceled).ID, "complete")
		refused(t, err, task.CodeArchived, "canceled", "done")
	})
	t.Run("an unknown status names the valid ones", func(t *testing.T) {
		_, err := inst.patchStatus(inst.taskWithStatus(task.Active).ID, "open")
		refused(t, err, task.CodeInvalidField, "status", "draft", "working", "complete")
	})
}

func TestOwnerAndStatusInOnePatch(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	patch := func(id task.ID, owner, status string) (*task.Task, error) {
		return inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Owner: &owner, Status: &status})
	}
	t.Run("idle and a new owner release the claim and move the task", func(t *testing.T) {
		tk := must(inst.patchStatus(inst.taskWithStatus(task.Active).ID, "working"))
		tk = must(patch(tk.ID, "pull", "idle"))
		equal(t, "owner", tk.Owner, "pull")
		equal(t, "work status", tk.WorkStatus, task.Idle)
	})
	t.Run("working and a new owner claim the task for the new owner without a run", func(t *testing.T) {
		tk := must(patch(inst.taskWithStatus(task.Active).ID, "reviewer", "working"))
		equal(t, "holder", tk.Claim.Holder, "reviewer")
		equal(t, "runs", len(inst.runs(tk.ID)), 0)
	})
	t.Run("done and a new owner create no run", func(t *testing.T) {
		tk := must(patch(inst.taskWithStatus(task.Active).ID, "reviewer", "done"))
		equal(t, "owner", tk.Owner, "reviewer")
		equal(t, "runs", len(inst.runs(tk.ID)), 0)
	})
	t.Run("active and a new owner start the draft with the new owner", func(t *testing.T) {
		tk := must(patch(inst.taskWithStatus(task.Draft).ID, "reviewer", "active"))
		equal(t, "agent of the run", inst.openRun(tk.ID).Agent, "reviewer")
	})
}

func TestTheVersionGuardsAgainstLostUpdates(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.taskWithStatus(task.Active)
	text := "A better title"
	now := must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Title: &text, Version: tk.Version}))
	if now.Version <= tk.Version {
		t.Fatalf("the version did not increase: %d after %d", now.Version, tk.Version)
	}
	_, err := inst.s.UpdateTask(inst.ctx(), oleg, tk.ID, task.Patch{Title: &text, Version: tk.Version})
	e := refused(t, err, task.CodeStaleVersion)
	equal(t, "kind", e.Kind, task.Conflict)
	if e.Task == nil || e.Task.Title != text || e.Task.Version != now.Version {
		t.Fatalf("the error does not contain the current task: %+v", e.Task)
	}
}

func TestEveryChangeUpdatesVersionAndUpdatedAt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, steps("one"))
	step := task.StepPatch{Done: new(bool)}
	*step.Done = true
	better := "better"
	for _, c := range []struct {
		name string
		act  func() error
	}{
		{"title", func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Title: &better})
			return err
		}},
		{"step", func() error { _, err := inst.s.UpdateStep(inst.ctx(), maya, tk.ID, 0, step); return err }},
		{"steps", func() error {
			_, err := inst.s.ReplaceSteps(inst.ctx(), maya, tk.ID, []task.Step{{Title: "x"}})
			return err
		}},
		{"subtask", func() error {
			_, err := inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 0, task.New{Title: "s", NoStart: true})
			return err
		}},
		{"resource", func() error {
			_, err := inst.s.AddResource(inst.ctx(), maya, tk.ID, task.Resource{Type: "file", Value: "/a"})
			return err
		}},
		{"resource removed", func() error { _, err := inst.s.RemoveResource(inst.ctx(), maya, tk.ID, 0); return err }},
		{"comment", func() error { _, err := inst.s.Comment(inst.ctx(), maya, tk.ID, "hm"); return err }},
		{"claim", func() error { _, err := inst.patchStatus(tk.ID, "working"); return err }},
		{"question", func() error { _, err := inst.s.Ask(inst.ctx(), coder, tk.ID, "?", true); return err }},
		{"answer", func() error { _, err := inst.s.Reply(inst.ctx(), maya, tk.ID, "!"); return err }},
		{"release", func() error { _, err := inst.s.ReleaseClaim(inst.ctx(), maya, tk.ID, 0); return err }},
		{"owner", func() error {
			o := "pull"
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Owner: &o})
			return err
		}},
		{"complete", func() error { _, err := inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "", 0); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := inst.task(tk.ID)
			inst.Forward(1e9)
			ok(t, c.act())
			now := inst.task(tk.ID)
			if now.Version <= before.Version || now.UpdatedAt <= before.UpdatedAt {
				t.Fatalf("got version %d → %d, updated %s → %s", before.Version, now.Version, before.UpdatedAt, now.UpdatedAt)
			}
			equal(t, "created at", now.CreatedAt, before.CreatedAt)
			equal(t, "created by", now.CreatedBy, before.CreatedBy)
			equal(t, "thread", now.ThreadID, before.ThreadID)
		})
	}
}

func TestErrorsForArchivedTasksHaveOneText(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	done := inst.taskWithStatus(task.Done).ID
	const text = ": archived tasks are read-only; create a follow-up"
	for name, change := range map[string]func() error{
		"an edit": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, done, task.Patch{Title: new("x")})
			return err
		},
		"a status": func() error {
			_, err := inst.patchStatus(done, "active")
			return err
		},
		"a hand-over": func() error {
			_, err := inst.s.HandOver(inst.ctx(), maya, HandOver{TaskID: done, From: "coder", To: "pull", Comment: "x"})
			return err
		},
		"a priority": func() error {
			_, err := inst.s.Reprioritize(inst.ctx(), maya, done, 0, 5)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, change(), task.CodeArchived, "is done", text) })
	}
}

func TestErrorsForStaleLeasesHaveOneText(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	_, asked := inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease+1, task.Permission{Tool: "bash"})
	refused(t, asked, task.CodeStaleLease, "no longer held under this lease")
	_, sent := inst.s.QueuedRunMessages(inst.ctx(), st.Run.ID, st.Run.Lease+1)
	equal(t, "the other error", sent.Error(), asked.Error())
}
