package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// Preferences returns what the caller chose for themselves; only people have
// preferences. Error: may not read.
func (s *Service) Preferences(ctx context.Context, a task.Actor) (task.Preferences, error) {
	if err := s.allowed(a, task.Read); err != nil || a.UserID == 0 {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (task.Preferences, error) { return rx.Preferences(a.UserID) })
}

// SetPreference keeps a choice of the caller; "" is the default. The same
// again changes nothing. Errors: not a person who signed in, no such
// preference or value.
func (s *Service) SetPreference(ctx context.Context, a task.Actor, p task.Preference, value string) error {
	if err := checkMaySave(a, "preferences"); err != nil {
		return err
	}
	if err := p.Check(value); err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		had, err := tx.Preferences(a.UserID)
		if err != nil || had[p] == value {
			return err
		}
		if err := tx.SetPreference(a.UserID, p, value); err != nil {
			return err
		}
		return tx.event(task.EvPreference, task.Event{}, changes{"preference": p, "value": value})
	})
}
