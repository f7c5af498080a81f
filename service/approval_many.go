package service

import (
	"context"
	"errors"
	"time"

	"taskyard/task"
)

// Reviewed is a run as a reviewer looked at it.
type Reviewed struct {
	Run     task.ID
	Version string
}

// ApproveMany lets waiting runs run once that may do nothing but read, in one
// transaction. Those that write, were decided meanwhile, or changed since they
// were looked at are skipped. Errors: not a reviewer, too many, too long undo.
func (s *Service) ApproveMany(ctx context.Context, a task.Actor, list []Reviewed, undo time.Duration) (task.Decided, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return task.Decided{}, err
	}
	if err := errors.Join(checkRunCount(len(list)), checkUndoWindow(undo)); err != nil {
		return task.Decided{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (d task.Decided, err error) {
		for _, l := range list {
			if err := addDecision(&d, l.Run, tx.approveOne(l, undo)); err != nil {
				return d, err
			}
		}
		return d, nil
	})
}

// addDecision adds a run to the outcome of a decision on many: as done, or with an
// error that a caller may read as skipped. Any other error it returns.
func addDecision(d *task.Decided, run task.ID, err error) error {
	if e, ok := errors.AsType[*task.Error](err); ok {
		d.Skipped = append(d.Skipped, task.Skipped{Run: run, Reason: e.Message})
		return nil
	}
	if err == nil {
		d.Done = append(d.Done, run)
	}
	return err
}

func (tx *txn) approveOne(l Reviewed, undo time.Duration) error {
	in := Approve{Scope: task.ScopeOnce, Version: l.Version}
	r, tk, limits, err := tx.loadForApproval(l.Run, in)
	switch {
	case err != nil:
		return err
	case l.Version == "":
		return task.FieldErrorf("version", "of run %d is missing", l.Run)
	case !task.ReadOnly(r.Spec.Tools):
		return task.Errorf(task.Conflict, task.CodeRunDecided, "Run %d may do more than read: review it on its own page", l.Run)
	case undo > 0:
		_, err = tx.setPendingDecision(r, task.PendingDecision{Decision: "approved", Scope: in.Scope}, undo)
	default:
		_, err = tx.approve(r, tk, limits, in)
	}
	return err
}
