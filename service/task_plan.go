package service

import (
	"context"
	"slices"

	"taskyard/task"
)

// replan is the shape of changes of a plan's order: fn gets the steps as they
// are and returns how they shall be, with the event that records it.
func (s *Service) replan(ctx context.Context, a task.Actor, id task.ID,
	fn func(*txn, *task.Task) (now []task.Step, kind string, c changes, err error),
) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		now, kind, c, err := fn(tx, tk)
		if err != nil || kind == "" {
			return err
		}
		if err := checkPlan("details", tk, now); err != nil {
			return err
		}
		if err := tx.ArrangeSteps(id, tk.Steps, now); err != nil {
			return err
		}
		if err := tx.recordEdit(id, task.PartSteps); err != nil {
			return err
		}
		return tx.recordChange(tk, kind, c)
	})
}

// unchangedStep returns the step at a 0-based index if it is what the caller read.
func unchangedStep(tk *task.Task, at int, seen task.StepSeen) (task.Step, error) {
	st, err := stepAt(tk, at)
	if err == nil && !seen.Matches(st) {
		err = task.Errorf(task.Conflict, task.CodeStaleVersion, "Step %d of task %d has changed in the meantime: read it again", at+1, tk.ID)
	}
	return st, err
}

// EditStep is UpdateStep by a caller who read the step before: when it is not
// what seen says any more, nothing is written. Errors: as UpdateStep, stale.
func (s *Service) EditStep(ctx context.Context, a task.Actor, id task.ID, at int,
	seen task.StepSeen, p task.StepPatch,
) (*task.Task, error) {
	return s.updateStep(ctx, a, id, at, seen, p)
}

// InsertStep puts a step before the one at a 0-based index; len(steps) or more
// means the end. Errors: invalid fields, too many, archived.
func (s *Service) InsertStep(ctx context.Context, a task.Actor, id task.ID, at int, st task.Step) (*task.Task, error) {
	var problems task.Problems
	problems.CheckLine("title", st.Title, task.MaxStepTitle)
	problems.CheckText("details", st.Details, task.MaxText)
	if at < 0 {
		problems.Add("at", "must not be negative")
	}
	if st.TaskID != 0 {
		problems.Add("taskId", "is written by creating or linking a subtask")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return s.replan(ctx, a, id, func(_ *txn, tk *task.Task) ([]task.Step, string, changes, error) {
		if len(tk.Steps) >= task.MaxSteps {
			return nil, "", nil, task.FieldErrorf("steps", "must be at most %d steps", task.MaxSteps)
		}
		at := min(at, len(tk.Steps))
		return slices.Insert(slices.Clone(tk.Steps), at, st), task.EvStepAdded, changes{"step": at, "title": st.Title}, nil
	})
}

// MoveStep moves a step to another 0-based index; a link moves with it.
// Errors: index out of range, stale, archived.
func (s *Service) MoveStep(ctx context.Context, a task.Actor, id task.ID, from, to int, seen task.StepSeen) (*task.Task, error) {
	return s.replan(ctx, a, id, func(_ *txn, tk *task.Task) ([]task.Step, string, changes, error) {
		st, err := unchangedStep(tk, from, seen)
		if err == nil {
			_, err = stepAt(tk, to)
		}
		if err != nil || from == to {
			return nil, "", nil, err
		}
		now := slices.Insert(slices.Delete(slices.Clone(tk.Steps), from, from+1), to, st)
		return now, task.EvStepMoved, changes{"from": from, "to": to, "title": st.Title}, nil
	})
}

// RemoveStep removes one step from the plan. The event keeps all of it, so
// that it can be put back. Errors: index out of range, linked (409), stale.
func (s *Service) RemoveStep(ctx context.Context, a task.Actor, id task.ID, at int, seen task.StepSeen) (*task.Task, error) {
	return s.replan(ctx, a, id, func(_ *txn, tk *task.Task) ([]task.Step, string, changes, error) {
		st, err := unchangedStep(tk, at, seen)
		if err != nil {
			return nil, "", nil, err
		}
		if st.TaskID != 0 {
			return nil, "", nil, task.Errorf(task.Conflict, task.CodeStepLinked,
				"Step %d is linked to task %d: a step with a subtask stays in the plan", at+1, st.TaskID)
		}
		c := changes{"step": at, "title": st.Title, "done": st.Done}
		if st.Details != "" {
			c["details"] = st.Details
		}
		return slices.Delete(slices.Clone(tk.Steps), at, at+1), task.EvStepRemoved, c, nil
	})
}

// RestoreStep puts a step back that the named event took out, while the plan
// has not been rearranged since. Error: it has, or there is no such event.
func (s *Service) RestoreStep(ctx context.Context, a task.Actor, id, event task.ID) (*task.Task, error) {
	return s.replan(ctx, a, id, func(tx *txn, tk *task.Task) ([]task.Step, string, changes, error) {
		list, err := tx.LastEvents(id, pageEvents)
		if err != nil {
			return nil, "", nil, err
		}
		i := len(list) - 1
		for i >= 0 && !task.ArrangesPlan(list[i].Kind) {
			i--
		}
		if i < 0 || list[i].ID != event || list[i].Kind != task.EvStepRemoved {
			return nil, "", nil, task.Errorf(task.Conflict, task.CodeStaleVersion,
				"The plan of task %d has changed in the meantime, so the step cannot be restored: add it again", id)
		}
		c := list[i].PlanChange()
		at := min(c.Step, len(tk.Steps))
		now := slices.Insert(slices.Clone(tk.Steps), at, task.Step{Title: c.Title, Details: c.Details, Done: c.Done})
		return now, task.EvStepAdded, changes{"step": at, "title": c.Title}, nil
	})
}

// UpdateResource changes the resource at a 0-based index that the caller read
// with a value. Errors: invalid fields, out of range, stale, archived.
func (s *Service) UpdateResource(
	ctx context.Context, a task.Actor, id task.ID, at int, before string, r task.Resource,
) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	var p task.Problems
	p.CheckResource("", r)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		if at < 0 || at >= len(tk.Resources) {
			return outOfRangeError("index", "resource", id, at, len(tk.Resources))
		}
		was := tk.Resources[at]
		if before != "" && before != was.Value {
			return task.Errorf(task.Conflict, task.CodeStaleVersion, "The links of this task have changed since you read them; read them again")
		}
		if was == r {
			return nil
		}
		if err := tx.UpdateResource(id, at, r); err != nil {
			return err
		}
		if err := tx.recordEdit(id, task.PartResources); err != nil {
			return err
		}
		return tx.recordChange(tk, task.EvResourceEdited, changes{"resource": []task.Resource{was, r}})
	})
}
