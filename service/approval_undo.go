package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// checkUndoWindow checks how long a decision can be undone.
func checkUndoWindow(d time.Duration) error {
	if d < 0 || d > task.MaxUndoWindow {
		return task.FieldErrorf("undoSeconds", "must be 0 to %d", int(task.MaxUndoWindow/time.Second))
	}
	return nil
}

// setPendingDecision records a decision that takes effect when it can no longer be
// undone. It is only in the database, so a crash neither loses it nor has it take
// effect early.
func (tx *txn) setPendingDecision(r *task.Run, h task.PendingDecision, undo time.Duration) (*task.Run, error) {
	h.By, h.At, h.Until = tx.actor.Name, tx.Now, tx.Now.Add(undo)
	if ok, err := tx.SetPendingDecision(r, &h); err != nil || !ok {
		return nil, errorOrEnded(r, err)
	}
	tx.signals.Queued = true // the dispatcher learns when to look again
	c := changes{"decision": h.Decision, "until": h.Until}
	if h.Reason != "" {
		c["reason"] = h.Reason
	}
	if err := tx.runEvent(task.EvRunHeld, r, c); err != nil {
		return nil, err
	}
	return tx.Run(r.ID)
}

// UndoDecisions undoes decisions of the caller that have not taken effect.
// Decisions that have taken effect, or are someone else's, are skipped. Errors:
// not a reviewer; for a single run, why it was skipped.
func (s *Service) UndoDecisions(ctx context.Context, a task.Actor, ids []task.ID) (task.Decided, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return task.Decided{}, err
	}
	if err := checkRunCount(len(ids)); err != nil {
		return task.Decided{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (d task.Decided, err error) {
		if len(ids) == 1 {
			return task.Decided{Done: ids}, tx.undo(ids[0])
		}
		for _, id := range ids {
			if err := addDecision(&d, id, tx.undo(id)); err != nil {
				return d, err
			}
		}
		return d, nil
	})
}

// maxDecided bounds one act on many runs.
const maxDecided = 200

func checkRunCount(n int) error {
	if n == 0 || n > maxDecided {
		return task.FieldErrorf("run", "must name 1 to %d runs", maxDecided)
	}
	return nil
}

func (tx *txn) undo(id task.ID) error {
	r, err := tx.Run(id)
	if err != nil {
		return err
	}
	h := r.PendingDecision
	switch {
	case h == nil && waitsForReviewer(r):
		return task.Errorf(task.Conflict, task.CodeRunDecided, "Run %d has not been decided yet: it is waiting for a reviewer", id)
	case h == nil:
		return task.Errorf(task.Conflict, task.CodeRunDecided,
			"The decision on run %d has taken effect (%s) and cannot be undone", id, r.State().Text())
	case h.By != tx.actor.Name:
		return task.Errorf(task.Forbidden, task.CodeForbidden, "%s decided on run %d: nobody else may undo that", task.ActorLabel(h.By), id)
	case h.Until <= tx.Now:
		return task.Errorf(task.Conflict, task.CodeRunDecided, "The decision on run %d could be undone until %s", id, h.Until)
	}
	return tx.dropPendingDecision(r, changes{"decision": h.Decision})
}

func waitsForReviewer(r *task.Run) bool {
	return r.State() == task.State{Status: task.RunPending, Phase: task.PhaseApproval}
}

// dropPendingDecision makes a run wait for a reviewer again.
func (tx *txn) dropPendingDecision(r *task.Run, c changes) error {
	if ok, err := tx.SetPendingDecision(r, nil); err != nil || !ok {
		return errorOrEnded(r, err)
	}
	return tx.runEvent(task.EvRunUndone, r, c)
}

// settle lets pending decisions take effect whose time has come, and returns when
// the next will be, 0 when there is none.
func (s *Service) settle(ctx context.Context) (task.Time, error) {
	return s.applyDue(ctx, (*db.Rx).FirstPendingDecision, (*db.Rx).DueDecisions, (*txn).applyDecision)
}

// applyDue does what is due to runs, in batches, until nothing is, and returns when
// the next will be, 0 when there is none.
func (s *Service) applyDue(ctx context.Context, next func(*db.Rx) (task.Time, error),
	due func(rx *db.Rx, limit int) ([]*task.Run, error), apply func(*txn, *task.Run) error,
) (task.Time, error) {
	for {
		at, err := read(ctx, s, next)
		if err != nil || at == 0 || at > s.Now() {
			return at, err
		}
		err = change(ctx, s, task.SystemActor, func(tx *txn) error {
			list, err := due(&tx.Rx, maxDecided)
			if err != nil {
				return err
			}
			for _, r := range list {
				if err := apply(tx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
}

// applyDecision does what a held decision says, in the name of who made it. One
// that they may not make any more is dropped.
func (tx *txn) applyDecision(r *task.Run) error {
	h := *r.PendingDecision
	tx.actor = task.SystemActor
	why, err := tx.decisionRightLost(h.By)
	if err != nil {
		return err
	}
	if why != "" {
		return tx.dropPendingDecision(r, changes{"decision": h.Decision, "why": why})
	}
	tx.actor = task.Actor{Name: h.By, Role: task.RoleReviewer}
	if h.Decision == "denied" {
		_, err := tx.deny(r, h.Reason)
		return err
	}
	tk, err := tx.Task(r.TaskID)
	if err != nil {
		return err
	}
	def, err := tx.s.startableAgent(r.Agent)
	if err == nil {
		_, err = tx.mayApprove(r)
	}
	if e, ok := errors.AsType[*task.Error](err); ok { // nothing to start by now, or not for them to approve: whoever looks again sees why
		return tx.dropPendingDecision(r, changes{"decision": h.Decision, "why": e.Message})
	}
	if err != nil {
		return err
	}
	if changed, err := tx.refreezeChanged(r, def, tk); err != nil || changed {
		return err
	}
	limits, err := r.Spec.Limits.Tighten(h.Limits)
	if err != nil {
		return err
	}
	_, err = tx.approve(r, tk, limits, Approve{Scope: h.Scope, Limits: h.Limits})
	return err
}

// decisionRightLost says why a person may no longer decide, "" when they may. Who has
// no account, as on a server without people, keeps the right.
func (tx *txn) decisionRightLost(name string) (string, error) {
	u, _, ok, err := tx.UserByName(task.ActorLabel(name))
	switch {
	case err != nil || !ok:
		return "", err
	case u.DisabledAt != 0:
		return "the account of " + u.Name + " is disabled", nil
	case !u.Role.May(task.Decide):
		return u.Name + " now has the role " + string(u.Role) + ", which may not decide", nil
	}
	return "", nil
}

// PendingDecisions returns the runs whose decision the caller can still undo.
// Error: may not read.
func (s *Service) PendingDecisions(ctx context.Context, a task.Actor) ([]*task.Run, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) {
		list, err := rx.PendingDecisions(maxDecided)
		return slices.DeleteFunc(list, func(r *task.Run) bool { return r.PendingDecision.By != a.Name }), err
	})
}

// SpecBefore returns what a run would have done under a version that was
// looked at, or with "" before it was asked again; nil when it was not. Error:
// may not read.
func (s *Service) SpecBefore(ctx context.Context, a task.Actor, run task.ID, version string) (*task.Spec, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Spec, error) { return rx.SavedSpec(run, version) })
}
