package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// closingTime is how long a run may continue that has closed its own task. With the
// time that its program is then given to end, that is less than 10 s.
const closingTime = 7 * time.Second

// closeOwn ends the run that completes, cancels or gives away its own task.
// The receiver of a webhook has said all with that. A program may end by
// itself first, with its own result; closeDue sees to the rest.
func (tx *txn) closeOwn(tk *task.Task, r *task.Run, reason string) error {
	if r.Status != task.RunRunning {
		return nil
	}
	if !tx.s.isWebhook(r) {
		tx.signals.Queued = true // the dispatcher learns when to look
		return tx.SetClosing(r.ID, tx.Now.Add(closingTime))
	}
	if r.Phase == task.PhaseStarting {
		if err := tx.enterPhase(r, task.PhaseWorking); err != nil {
			return err
		}
	}
	tk.Failures = 0 // a success ends the row
	if err := tx.SetFailures(tk.ID, 0); err != nil {
		return err
	}
	end := runEnd{keepDelegated: true, summary: reason}
	return tx.end(r, task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, end, ErrStopReported)
}

// withOwnClosing is the end of a run that closed its own task: it completed,
// whatever became of its program afterwards.
func (tx *txn) withOwnClosing(r *task.Run, f Finished) (Finished, error) {
	if r.ClosingAt == 0 || f.State.Status == task.RunCompleted {
		return f, nil
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil {
		return f, err
	}
	f.State, f.Reason, f.Permanent = task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, "", false
	switch {
	case tk.Status == task.Canceled:
		f.Summary = "the task was canceled"
	case tk.Awaits != "":
		f.Summary = "the result was submitted; the task " + awaitsText(tk)
	case tk.Status != task.Done:
		f.Summary = "the task moved to " + tk.Owner
	case tk.Summary != "":
		f.Summary = tk.Summary
	default:
		f.Summary = "the task was completed"
	}
	return f, nil
}

// closeDue ends the runs that have closed their own tasks and whose programs
// did not end by themselves, and returns when the next is due, 0 for none.
func (s *Service) closeDue(ctx context.Context) (task.Time, error) {
	return s.applyDue(ctx, (*db.Rx).FirstClosing, (*db.Rx).ClosingDue, (*txn).concludeClosed)
}

// concludeClosed ends a run that has done its work, and stops its program.
func (tx *txn) concludeClosed(r *task.Run) error {
	tx.stopRun(r.ID, ErrStopDone)
	return tx.conclude(r, Finished{})
}

// earlier returns the earlier of two moments of which 0 is none.
func earlier(a, b task.Time) task.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// freeClaim ends the claim that the run took at its start, if it is still
// that one.
func (tx *txn) freeClaim(r *task.Run) error {
	if r.ClaimID == 0 {
		return nil
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil || tk.Claim == nil || tk.Claim.ID != r.ClaimID {
		return err
	}
	return tx.release(tk, "run ended")
}

// freeClaims ends all claims that the run took, by signing up too: nobody else
// can use them.
func (tx *txn) freeClaims(r *task.Run) error {
	if err := tx.freeClaim(r); err != nil {
		return err
	}
	list, err := tx.ClaimedInRun(r.ID)
	if err != nil {
		return err
	}
	for _, id := range list {
		tk, err := tx.TaskRow(id)
		if err != nil {
			return err
		}
		if err := tx.release(tk, "run ended"); err != nil {
			return err
		}
	}
	return nil
}
