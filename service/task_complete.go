package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// CompleteTask archives an active task as done and wakes the parent's owner,
// and the owner of each task that was blocked by nothing else. Of a task of a
// project the checks run first, which may take as long as they may; then its
// result waits for people or for its merge, where the project says so, and the
// task stays active until then.
// claim, if not 0, must be the present claim's id. Errors: forbidden
// transition, stale claim, not related, a required check did not pass.
func (s *Service) CompleteTask(ctx context.Context, a task.Actor, id task.ID, summary string, claim int64) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkText("summary", summary); err != nil {
		return nil, err
	}
	if existing := s.submissions.find(id, a, "", summary, s.Now()); existing != nil {
		return awaitSubmission(ctx, s, a, existing, (*submission).completed)
	}
	sub, err := s.newSubmission(ctx, a, id, summary, claim)
	if sub != nil || err != nil { // a repeat may find the task as its first call has left it
		if out, known, err := answered[*task.Task](ctx, s); known || err != nil {
			return out, err
		}
	}
	switch {
	case err != nil:
		return nil, err
	case sub != nil:
		return s.submit(ctx, a, sub)
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.find(id, false)
		if err != nil {
			return nil, err
		}
		if err := mayEnd(&tx.Rx, a, tk, task.Done, claim); err != nil {
			return nil, err
		}
		if err := tx.complete(tk, summary); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// mayEnd checks that the caller may end a task so. A run may cancel what it
// brought about although another run works there, and stops that with it.
func mayEnd(rx *db.Rx, a task.Actor, tk *task.Task, next task.Status, claim int64) error {
	check := checkMayChange
	if next == task.Canceled {
		check = checkRelated
	}
	if err := check(rx, a, tk); err != nil {
		return err
	}
	if err := tk.Status.MoveErr(tk.ID, next); err != nil {
		return err
	}
	if next == task.Done {
		if err := checkNotDenied(rx, a, tk); err != nil {
			return err
		}
	}
	return checkClaimID(tk, claim)
}

// checkNotDenied keeps a run from completing a task that a reviewer denied: the
// denial is valid until a person has the task run again.
func checkNotDenied(rx *db.Rx, a task.Actor, tk *task.Task) error {
	if a.RunID == 0 || tk.Failures == 0 {
		return nil
	}
	list, err := rx.Runs(task.RunFilter{TaskID: tk.ID, Limit: 1})
	if err != nil || len(list) == 0 || list[0].Phase != task.PhaseDenied {
		return err
	}
	return task.Errorf(task.Conflict, task.CodeTaskGated,
		"Run %d cannot complete task %d, whose run %d was denied: cancel it, or ask a person to run it again",
		a.RunID, tk.ID, list[0].ID)
}

// complete makes a task history unless it must prove its result: that has a
// call of its own, see submit.
func (tx *txn) complete(tk *task.Task, summary string) error {
	if needed, err := tx.s.needsResult(&tx.Rx, tk); err != nil {
		return err
	} else if needed {
		return reviewNeededError(tk)
	}
	return tx.archiveDone(tk, summary)
}

func (tx *txn) archiveDone(tk *task.Task, summary string) error {
	if err := tx.closeRun(tk, "the task was completed", true); err != nil {
		return err
	}
	if err := tx.Archive(tk.ID, task.Done, summary); err != nil {
		return err
	}
	tx.inboxIf(tk.Failures > 0 || tk.QuestionID != 0 || tk.BlockersCanceled > 0)
	c := changes{"status": []task.Status{tk.Status, task.Done}}
	if summary != "" {
		c["summary"] = summary
	}
	if err := tx.taskEvent(task.EvTaskCompleted, tk, c); err != nil {
		return err
	}
	if err := tx.blockerEnded(tk, task.Done); err != nil {
		return err
	}
	return tx.wakeParent(tk, "completed")
}

// wakeParent wakes the owner of the task above, if that is active. Of several
// subtasks that one run delegated, only the last one to end wakes it.
func (tx *txn) wakeParent(tk *task.Task, what string) error {
	if tk.ParentTaskID == 0 {
		return nil
	}
	p, err := tx.TaskRow(tk.ParentTaskID)
	if err != nil || p.Status != task.Active {
		return err
	}
	tx.signals.Topics = append(tx.signals.Topics, "task:"+p.ID.String())
	if own, err := tx.runDelegated(p, tk); err != nil || own {
		return err
	}
	if err := tx.SetResumes(p.ID); err != nil {
		return err
	}
	bound, err := tx.Bound(tk.ID)
	if err != nil {
		return err
	}
	delegated := bound != nil && bound.ParentRun != 0
	if delegated {
		if open, err := tx.siblingsOpen(tk, bound.ParentRun); err != nil || open {
			return err
		}
	}
	// The failed runs of the parent could not know what they had delegated.
	return tx.wakeTask(p, "subtask "+tk.ID.String()+" "+what, delegated)
}
