package service

import (
	"context"

	"taskyard/task"
)

// Canceled is the answer of CancelTask.
type Canceled struct {
	Task     *task.Task `json:"task"`
	Canceled []task.ID  `json:"canceled" doc:"every task that was canceled, the named one first"`
}

// CancelTask archives a task as canceled, and every linked subtask below it
// that is not archived yet, in one transaction; their open runs are stopped.
func (s *Service) CancelTask(ctx context.Context, a task.Actor, id task.ID, reason string) (Canceled, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return Canceled{}, err
	}
	if err := checkText("reason", reason); err != nil {
		return Canceled{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (Canceled, error) {
		k, err := t.find(id, false)
		if err != nil {
			return Canceled{}, err
		}
		if err := t.mayEnd(k, task.Canceled, 0); err != nil {
			return Canceled{}, err
		}
		ids, err := t.cancel(k, reason)
		if err != nil {
			return Canceled{}, err
		}
		now, err := t.Task(id)
		return Canceled{now, ids}, err
	})
}

func (t *tx) cancel(k *task.Task, reason string) ([]task.ID, error) {
	ids, err := t.cancelTree(k, reason)
	if err != nil {
		return nil, err
	}
	return ids, t.wakeParent(k, "canceled")
}

// cancelTree cancels a task and what is open below it.
func (t *tx) cancelTree(k *task.Task, reason string) ([]task.ID, error) {
	below, err := t.Below(k.ID)
	if err != nil {
		return nil, err
	}
	all := append([]*task.Task{k}, below...)
	ids := make([]task.ID, len(all))
	gone := make([]*task.Task, 0, len(all))
	for i, c := range all {
		ids[i] = c.ID
		why := reason
		if i > 0 && why == "" {
			why = "task " + k.ID.String() + " above it was canceled"
		}
		if i > 0 { // the end of a run above may have canceled it by now
			if c, err = t.TaskBare(c.ID); err != nil {
				return nil, err
			}
		}
		if c.Status.Archived() {
			continue
		}
		if err := t.cancelOne(c, why); err != nil {
			return nil, err
		}
		gone = append(gone, c)
	}
	// Those that went with it are history by now, and wait for nothing.
	for _, c := range gone {
		if err := t.blockerEnded(c, task.Canceled); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (t *tx) cancelOne(k *task.Task, reason string) error {
	if err := t.closeRun(k, "the task was canceled", false); err != nil {
		return err
	}
	if err := t.Archive(k.ID, task.Canceled, reason); err != nil {
		return err
	}
	return t.event(task.EvTaskCanceled, task.Event{TaskID: k.ID, Agent: k.Owner}, changes{"status": []task.Status{k.Status, task.Canceled}, "reason": reason})
}
