package service

import (
	"context"

	"taskyard/task"
)

// Canceled is the answer of CancelTask.
type Canceled struct {
	Task     *task.Task `json:"task"`
	Canceled []task.ID  `json:"canceled" doc:"all tasks that were canceled, the requested one first"`
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
	return mutate(ctx, s, a, func(tx *txn) (Canceled, error) {
		tk, err := tx.find(id, false)
		if err != nil {
			return Canceled{}, err
		}
		if err := mayEnd(&tx.Rx, a, tk, task.Canceled, 0); err != nil {
			return Canceled{}, err
		}
		ids, err := tx.cancel(tk, reason)
		if err != nil {
			return Canceled{}, err
		}
		now, err := tx.Task(id)
		return Canceled{now, ids}, err
	})
}

func (tx *txn) cancel(tk *task.Task, reason string) ([]task.ID, error) {
	ids, err := tx.cancelTree(tk, reason)
	if err != nil {
		return nil, err
	}
	return ids, tx.wakeParent(tk, "canceled")
}

// cancelTree cancels a task and what is open below it.
func (tx *txn) cancelTree(tk *task.Task, reason string) ([]task.ID, error) {
	below, err := tx.OpenDescendants(tk.ID)
	if err != nil {
		return nil, err
	}
	all := append([]*task.Task{tk}, below...)
	ids := make([]task.ID, len(all))
	canceled := make([]*task.Task, 0, len(all))
	for i, c := range all {
		ids[i] = c.ID
		why := reason
		if i > 0 && why == "" {
			why = "task " + tk.ID.String() + " above it was canceled"
		}
		if i > 0 { // the end of a run above may have canceled it by now
			if c, err = tx.TaskRow(c.ID); err != nil {
				return nil, err
			}
		}
		if c.Status.Archived() {
			continue
		}
		if err := tx.cancelOne(c, why); err != nil {
			return nil, err
		}
		canceled = append(canceled, c)
	}
	// Those that went with it are history by now, and wait for nothing.
	for _, c := range canceled {
		if err := tx.blockerEnded(c, task.Canceled); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (tx *txn) cancelOne(tk *task.Task, reason string) error {
	if err := tx.closeRun(tk, "the task was canceled", false); err != nil {
		return err
	}
	if err := tx.Archive(tk.ID, task.Canceled, reason); err != nil {
		return err
	}
	if err := tx.dropResults(tk); err != nil {
		return err
	}
	return tx.taskEvent(task.EvTaskCanceled, tk, changes{"status": []task.Status{tk.Status, task.Canceled}, "reason": reason})
}
