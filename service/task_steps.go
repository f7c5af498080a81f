package service

import (
	"context"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// ReplaceSteps writes the whole plan of an open task. Errors: invalid fields,
// a linked step (409: change steps one by one then), archived.
func (s *Service) ReplaceSteps(ctx context.Context, a task.Actor, id task.ID, steps []task.Step) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckSteps("steps", steps)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		for i, st := range tk.Steps {
			if st.TaskID != 0 {
				return task.Errorf(task.Conflict, task.CodeStepLinked,
					"Step %d of task %d is linked to task %d: change the plan with update_step, append_step and insert_step ("+
						"PATCH /api/tasks/%d/steps/{index}, POST /api/tasks/%d/steps)", i, id, st.TaskID, id, id)
			}
		}
		if err := checkPlan("steps", tk, steps); err != nil {
			return err
		}
		if err := tx.ReplaceSteps(id, steps); err != nil {
			return err
		}
		if err := tx.recordContribution(id, task.PartSteps); err != nil {
			return err
		}
		return tx.recordChange(tk, task.EvStepsReplaced, changes{"steps": []int{len(tk.Steps), len(steps)}})
	})
}

// onTask is the shape of most changes: an open, whole task that the caller
// may change, and its new state with relations as the answer.
func (s *Service) onTask(ctx context.Context, a task.Actor, id task.ID, fn func(*txn, *task.Task) error) (*task.Task, error) {
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.open(id, true)
		if err != nil {
			return nil, err
		}
		if err := fn(tx, tk); err != nil {
			return nil, err
		}
		if err := tx.renew(tk); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// recordChange moves the version of a task and writes an event of what has
// changed below it: its plan, its resources, its blockers.
func (tx *txn) recordChange(tk *task.Task, kind string, c changes) error {
	if err := tx.Touch(tk.ID); err != nil {
		return err
	}
	return tx.taskEvent(kind, tk, c)
}

// stepAt checks a 0-based index.
func stepAt(tk *task.Task, at int) (task.Step, error) {
	if at < 0 || at >= len(tk.Steps) {
		return task.Step{}, outOfRangeError("index", "step", tk.ID, at, len(tk.Steps))
	}
	return tk.Steps[at], nil
}

func outOfRangeError(field, noun string, id task.ID, at, n int) error {
	if n == 0 {
		return task.FieldErrorf(field, "%s %d is out of range: task %d has no %ss", noun, at, id, noun)
	}
	return task.FieldErrorf(field, "%s %d is out of range: task %d has %ss 0 to %d", noun, at, id, noun, n-1)
}

// Step returns one step of a task, whole. Errors: unknown task, index out of
// range.
func (s *Service) Step(ctx context.Context, a task.Actor, id task.ID, at int) (task.Step, error) {
	return readTask(ctx, s, a, id, func(rx *db.Rx) (task.Step, error) {
		tk, err := rx.TaskWithTexts(id)
		if err != nil {
			return task.Step{}, err
		}
		return stepAt(tk, at)
	})
}

// UpdateStep changes title, details or done of one step. Errors: invalid
// fields, index out of range, archived.
func (s *Service) UpdateStep(ctx context.Context, a task.Actor, id task.ID, at int, p task.StepPatch) (*task.Task, error) {
	return s.updateStep(ctx, a, id, at, task.StepSeen{}, p)
}

func (s *Service) updateStep(ctx context.Context, a task.Actor, id task.ID, at int,
	seen task.StepSeen, p task.StepPatch,
) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var problems task.Problems
	if p.Title != nil {
		problems.CheckLine("title", *p.Title, task.MaxStepTitle)
	}
	if p.Details != nil {
		problems.CheckText("details", *p.Details, task.MaxText)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		st, err := unchangedStep(tk, at, seen)
		if err != nil {
			return err
		}
		diff := patchStep(&st, p)
		if len(diff) == 0 {
			return nil
		}
		if diff["title"] != nil || diff["details"] != nil {
			if err := tx.recordEdit(id, task.PartSteps); err != nil {
				return err
			}
		}
		diff["step"] = at
		now := slices.Clone(tk.Steps)
		now[at] = st
		if err := checkPlan("details", tk, now); err != nil {
			return err
		}
		if err := tx.UpdateStep(id, at, st); err != nil {
			return err
		}
		return tx.recordChange(tk, task.EvStepUpdated, diff)
	})
}

func patchStep(st *task.Step, p task.StepPatch) changes {
	diff := changes{}
	if p.Title != nil && *p.Title != st.Title {
		diff["title"] = []string{st.Title, *p.Title}
		st.Title = *p.Title
	}
	if p.Details != nil && *p.Details != st.Details {
		diff["details"] = []string{st.Details, *p.Details}
		st.Details = *p.Details
	}
	if p.Done != nil && *p.Done != st.Done {
		diff["done"] = []bool{st.Done, *p.Done}
		st.Done = *p.Done
	}
	return diff
}

// CreateSubtask makes a task for one step and links it: task, thread, link
// and events are one transaction. in.Owner "" means the caller, or the
// parent's owner for a person. Errors: index out of range, step already
// linked, nesting limit, not the parent's owner, as CreateTask.
func (s *Service) CreateSubtask(ctx context.Context, a task.Actor, parent task.ID, at int, in task.New) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if in.Owner == "" && a.IsAgent() {
		in.Owner = a.Name
	}
	if in.Owner != "" {
		if err := checkNew(&in); err != nil {
			return nil, s.withReferences(ctx, a, in, err)
		}
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.mayDelegate(parent, at)
		if err != nil {
			return nil, err
		}
		if in.Owner == "" {
			in.Owner = tk.Owner
			if err := checkNew(&in); err != nil {
				return nil, err
			}
		}
		bound, err := tx.treeBound(1)
		if err != nil {
			return nil, err
		}
		in.Project = tk.Project
		id, err := tx.insertTask(in, parent, tk.Nesting+1, bound)
		if err != nil {
			return nil, err
		}
		if err := tx.LinkStep(parent, at, id); err != nil {
			return nil, err
		}
		if err := tx.recordChange(tk, task.EvSubtaskCreated, changes{"step": at, "subtask": id, "owner": in.Owner}); err != nil {
			return nil, err
		}
		if err := tx.renew(tk); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// mayDelegate checks that the caller may make a subtask for a step.
func (tx *txn) mayDelegate(parent task.ID, at int) (*task.Task, error) {
	tk, err := tx.mayHaveSubtask(parent)
	if err != nil {
		return nil, err
	}
	if err := tx.mayCreate(); err != nil {
		return nil, err
	}
	return tk, checkStepFree(tk, "index", at)
}

// checkStepFree checks that a 0-based step is there and has no subtask yet.
func checkStepFree(tk *task.Task, field string, at int) error {
	if at < 0 || at >= len(tk.Steps) {
		return outOfRangeError(field, "step", tk.ID, at, len(tk.Steps))
	}
	if sub := tk.Steps[at].TaskID; sub != 0 {
		return task.Errorf(task.Conflict, task.CodeStepLinked,
			"Step %d of task %d already has the subtask %d: a step has at most one", at+1, tk.ID, sub)
	}
	return nil
}

// mayHaveSubtask returns a whole task below which the caller may make another.
func (tx *txn) mayHaveSubtask(parent task.ID) (*task.Task, error) {
	tk, err := tx.find(parent, true)
	if err != nil {
		return nil, err
	}
	if tx.actor.IsAgent() && tk.Owner != tx.actor.Name {
		return nil, task.Errorf(task.Forbidden, task.CodeForbidden, "only the owner of task %d (%s) may create subtasks of it", parent, tk.Owner)
	}
	if err := checkMayChange(&tx.Rx, tx.actor, tk); err != nil {
		return nil, err
	}
	if tk.Status.Archived() {
		return nil, archivedError(tk)
	}
	if tk.Nesting >= task.MaxNesting {
		return nil, task.Errorf(task.Conflict, task.CodeNestingLimit,
			"Task %d is nested %d deep; subtasks nest at most %d deep", parent, tk.Nesting, task.MaxNesting)
	}
	return tk, nil
}

// AddResource attaches a URL or file. Errors: invalid fields, too many.
func (s *Service) AddResource(ctx context.Context, a task.Actor, id task.ID, r task.Resource) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckResource("", r)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		if len(tk.Resources) >= task.MaxResources {
			return task.FieldErrorf("resources", "must be at most %d resources", task.MaxResources)
		}
		if err := tx.AddResource(id, len(tk.Resources), r); err != nil {
			return err
		}
		if err := tx.recordEdit(id, task.PartResources); err != nil {
			return err
		}
		return tx.recordChange(tk, task.EvResourceAdded, changes{"resource": r})
	})
}

// RemoveResource removes the resource at a 0-based index.
func (s *Service) RemoveResource(ctx context.Context, a task.Actor, id task.ID, at int) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		if at < 0 || at >= len(tk.Resources) {
			return outOfRangeError("index", "resource", id, at, len(tk.Resources))
		}
		if err := tx.RemoveResource(id, at); err != nil {
			return err
		}
		return tx.recordChange(tk, task.EvResourceGone, changes{"resource": tk.Resources[at]})
	})
}
