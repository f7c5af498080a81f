package service

import (
	"fmt"

	"taskyard/db"
	"taskyard/task"
)

// aboveRun calls fn with the runs that, directly or indirectly, delegated r or
// otherwise brought it about,
// the nearest first.
func aboveRun(rx *db.Rx, r *task.Run, fn func(*task.Run) error) error {
	for id := r.TreeRun; id != 0; {
		a, err := rx.Run(id)
		if err != nil {
			return err
		}
		if err := fn(a); err != nil {
			return err
		}
		id = a.TreeRun
	}
	return nil
}

// enforceTreeLimits holds what r used against the limits of every run above it: a run
// and all that it delegated, at any depth and side by side, use no more than
// the run may. The run above ends, and with it all below it; where it has
// ended already, r does.
func (tx *txn) enforceTreeLimits(r *task.Run) error {
	return aboveRun(&tx.Rx, r, func(a *task.Run) error {
		below, _, err := tx.UseBelow(a.ID)
		if err != nil {
			return err
		}
		phase, reason := a.Limits.Over(a.Usage.Add(below))
		if phase == "" {
			return nil
		}
		if a.Status == task.RunRunning {
			return tx.endOverLimit(a, phase, reason+", what it delegated included")
		}
		now, err := tx.Run(r.ID)
		if err != nil || now.Status != task.RunRunning {
			return err
		}
		return tx.endOverLimit(now, phase, fmt.Sprintf("Run %d, by which it was delegated, was given a limit for all of that. %s", a.ID, reason))
	})
}

// limitsLeft is what a running run may still give: what its own limits allow, and
// those of the runs above it, as far as their use is known. Error: nothing.
func (tx *txn) limitsLeft(r *task.Run) (task.Limits, error) {
	l, err := tx.ownLimitsLeft(r)
	if err != nil {
		return l, err
	}
	err = aboveRun(&tx.Rx, r, func(a *task.Run) error {
		up, err := tx.ownLimitsLeft(a)
		up.MaxTurns = 0 // bounds that run alone
		l = l.AtMost(up)
		return err
	})
	return l, err
}
