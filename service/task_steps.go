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
	return s.onTask(ctx, a, id, func(t *tx, k *task.Task) error {
		for i, st := range k.Steps {
			if st.TaskID != 0 {
				return task.Errorf(task.Conflict, task.CodeStepLinked, "Step %d of task %d is linked to task %d: change the plan with update_step (PATCH /api/tasks/%d/steps/{index})", i, id, st.TaskID, id)
			}
		}
		if err := checkPlan("steps", k, steps); err != nil {
			return err
		}
		if err := t.ReplaceSteps(id, steps); err != nil {
			return err
		}
		if err := t.brought(id, task.PartSteps); err != nil {
			return err
		}
		return t.stepped(k, task.EvStepsReplaced, changes{"steps": []int{len(k.Steps), len(steps)}})
	})
}

// onTask is the shape of most changes: an open, whole task that the caller
// may change, and its new state with relations as the answer.
func (s *Service) onTask(ctx context.Context, a task.Actor, id task.ID, fn func(*tx, *task.Task) error) (*task.Task, error) {
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.open(id, true)
		if err != nil {
			return nil, err
		}
		if err := fn(t, k); err != nil {
			return nil, err
		}
		if err := t.renew(k); err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

func (t *tx) stepped(k *task.Task, kind string, c changes) error {
	if err := t.Touch(k.ID); err != nil {
		return err
	}
	return t.event(kind, task.Event{TaskID: k.ID, Agent: k.Owner}, c)
}

// stepAt checks a 0-based index.
func stepAt(k *task.Task, at int) (task.Step, error) {
	if at < 0 || at >= len(k.Steps) {
		return task.Step{}, outOfRange("index", "step", k.ID, at, len(k.Steps))
	}
	return k.Steps[at], nil
}

func outOfRange(field, noun string, id task.ID, at, n int) error {
	if n == 0 {
		return task.FieldErrorf(field, "%s %d is out of range: task %d has no %ss", noun, at, id, noun)
	}
	return task.FieldErrorf(field, "%s %d is out of range: task %d has %ss 0 to %d", noun, at, id, noun, n-1)
}

// Step returns one step of a task, whole. Errors: unknown task, index out of
// range.
func (s *Service) Step(ctx context.Context, a task.Actor, id task.ID, at int) (task.Step, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return task.Step{}, err
	}
	return read(ctx, s, func(rx *db.Rx) (task.Step, error) {
		if err := s.sees(rx, a, id); err != nil {
			return task.Step{}, err
		}
		k, err := rx.TaskWhole(id)
		if err != nil {
			return task.Step{}, err
		}
		return stepAt(k, at)
	})
}

// UpdateStep changes title, details or done of one step. Errors: invalid
// fields, index out of range, archived.
func (s *Service) UpdateStep(ctx context.Context, a task.Actor, id task.ID, at int, p task.StepPatch) (*task.Task, error) {
	return s.updateStep(ctx, a, id, at, task.StepSeen{}, p)
}

func (s *Service) updateStep(ctx context.Context, a task.Actor, id task.ID, at int, seen task.StepSeen, p task.StepPatch) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var bad task.Problems
	if p.Title != nil {
		bad.CheckLine("title", *p.Title, task.MaxStepTitle)
	}
	if p.Details != nil {
		bad.CheckText("details", *p.Details, task.MaxText)
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(t *tx, k *task.Task) error {
		st, err := seenStep(k, at, seen)
		if err != nil {
			return err
		}
		diff := patchStep(&st, p)
		if len(diff) == 0 {
			return nil
		}
		if diff["title"] != nil || diff["details"] != nil {
			if err := t.wrote(id, task.PartSteps); err != nil {
				return err
			}
		}
		diff["step"] = at
		now := slices.Clone(k.Steps)
		now[at] = st
		if err := checkPlan("details", k, now); err != nil {
			return err
		}
		if err := t.UpdateStep(id, at, st); err != nil {
			return err
		}
		return t.stepped(k, task.EvStepUpdated, diff)
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

// AddStep appends one step to the plan, linked steps or not.
func (s *Service) AddStep(ctx context.Context, a task.Actor, id task.ID, st task.Step) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var bad task.Problems
	bad.CheckLine("title", st.Title, task.MaxStepTitle)
	bad.CheckText("details", st.Details, task.MaxText)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(t *tx, k *task.Task) error {
		if len(k.Steps) >= task.MaxSteps {
			return task.FieldErrorf("steps", "must be at most %d steps", task.MaxSteps)
		}
		if err := checkPlan("details", k, append(slices.Clone(k.Steps), st)); err != nil {
			return err
		}
		if err := t.InsertStep(id, len(k.Steps), st); err != nil {
			return err
		}
		if err := t.wrote(id, task.PartSteps); err != nil {
			return err
		}
		return t.stepped(k, task.EvStepsReplaced, changes{"steps": []int{len(k.Steps), len(k.Steps) + 1}})
	})
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
		if err := s.checkNew(&in); err != nil {
			return nil, err
		}
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Task, error) {
		k, err := t.mayDelegate(parent, at)
		if err != nil {
			return nil, err
		}
		if in.Owner == "" {
			in.Owner = k.Owner
			if err := s.checkNew(&in); err != nil {
				return nil, err
			}
		}
		bound, err := t.treeBound(1)
		if err != nil {
			return nil, err
		}
		id, err := t.insertTask(in, parent, k.Nesting+1, bound)
		if err != nil {
			return nil, err
		}
		if err := t.LinkStep(parent, at, id); err != nil {
			return nil, err
		}
		if err := t.stepped(k, task.EvSubtaskCreated, changes{"step": at, "subtask": id, "owner": in.Owner}); err != nil {
			return nil, err
		}
		if err := t.renew(k); err != nil {
			return nil, err
		}
		return t.Task(id)
	})
}

// mayDelegate checks that the caller may make a subtask for a step.
func (t *tx) mayDelegate(parent task.ID, at int) (*task.Task, error) {
	k, err := t.mayHaveSubtask(parent)
	if err != nil {
		return nil, err
	}
	if err := t.mayCreate(); err != nil {
		return nil, err
	}
	return k, freeStep(k, "index", at)
}

// freeStep checks that a 0-based step is there and has no subtask yet.
func freeStep(k *task.Task, field string, at int) error {
	if at < 0 || at >= len(k.Steps) {
		return outOfRange(field, "step", k.ID, at, len(k.Steps))
	}
	if sub := k.Steps[at].TaskID; sub != 0 {
		return task.Errorf(task.Conflict, task.CodeStepLinked, "Step %d of task %d already has the subtask %d: one subtask a step", at, k.ID, sub)
	}
	return nil
}

// mayHaveSubtask returns a whole task below which the caller may make another.
func (t *tx) mayHaveSubtask(parent task.ID) (*task.Task, error) {
	k, err := t.find(parent, true)
	if err != nil {
		return nil, err
	}
	if t.actor.IsAgent() && k.Owner != t.actor.Name {
		return nil, task.Errorf(task.Forbidden, task.CodeForbidden, "only the owner of task %d (%s) may create subtasks of it", parent, k.Owner)
	}
	if err := changeable(&t.Rx, t.actor, k); err != nil {
		return nil, err
	}
	if k.Status.Archived() {
		return nil, archived(k)
	}
	if k.Nesting >= task.MaxNesting {
		return nil, task.Errorf(task.Conflict, task.CodeNestingLimit, "Task %d is nested %d deep; subtasks nest at most %d deep", parent, k.Nesting, task.MaxNesting)
	}
	return k, nil
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
	return s.onTask(ctx, a, id, func(t *tx, k *task.Task) error {
		if len(k.Resources) >= task.MaxResources {
			return task.FieldErrorf("resources", "must be at most %d resources", task.MaxResources)
		}
		if err := t.AddResource(id, len(k.Resources), r); err != nil {
			return err
		}
		if err := t.wrote(id, task.PartResources); err != nil {
			return err
		}
		return t.stepped(k, task.EvResourceAdded, changes{"resource": r})
	})
}

// RemoveResource takes off the resource at a 0-based index.
func (s *Service) RemoveResource(ctx context.Context, a task.Actor, id task.ID, at int) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(t *tx, k *task.Task) error {
		if at < 0 || at >= len(k.Resources) {
			return outOfRange("index", "resource", id, at, len(k.Resources))
		}
		if err := t.RemoveResource(id, at); err != nil {
			return err
		}
		return t.stepped(k, task.EvResourceGone, changes{"resource": k.Resources[at]})
	})
}
