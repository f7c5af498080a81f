package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

const (
	maxSnooze    = 31 * 24 * time.Hour
	snoozeNotice = 10 * time.Minute // before it expires, what is snoozed comes back
)

// Snooze hides something that waits from the caller's own inbox until a
// moment, or until shortly before it expires. Doing it again moves the moment.
// Errors: not a person with an account, unknown kind, a moment that is past or
// over 31 days away, expires in a moment, nothing such waits.
func (s *Service) Snooze(ctx context.Context, a task.Actor, kind task.InboxKind, ref task.ID, until task.Time) (task.Snooze, error) {
	if err := s.ownInbox(a, kind); err != nil {
		return task.Snooze{}, err
	}
	if now := s.Now(); until <= now || until.Sub(now) > maxSnooze {
		return task.Snooze{}, task.FieldErrorf("until", "must be within the next 31 days")
	}
	return mutate(ctx, s, a, func(tx *txn) (z task.Snooze, err error) {
		z = task.Snooze{Kind: kind, Ref: ref, Until: until}
		expires, ok, err := tx.Waits(&z, s.config().Attempts)
		if err != nil {
			return z, err
		}
		if !ok {
			return z, task.Errorf(task.NotFound, task.CodeNotFound, "This is no longer waiting: someone has dealt with it")
		}
		if expires != 0 {
			z.Until = min(z.Until, expires.Add(-snoozeNotice))
		}
		if z.Until <= tx.Now {
			return z, task.Errorf(task.Conflict, task.CodeExpiresSoon, "It expires at %s: decide now", expires)
		}
		if err := tx.SetSnooze(a.UserID, z); err != nil {
			return z, err
		}
		tx.inboxIf(true)
		if err := tx.event(task.EvSnoozed, task.Event{TaskID: z.TaskID}, changes{"what": kind, "until": z.Until}); err != nil {
			return z, err
		}
		z, _, err = tx.Rx.Snooze(a.UserID, kind, ref)
		return z, err
	})
}

// Wake shows what the caller snoozed again. Waking twice is no error. Errors:
// not a person with an account, unknown kind.
func (s *Service) Wake(ctx context.Context, a task.Actor, kind task.InboxKind, ref task.ID) error {
	if err := s.ownInbox(a, kind); err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		z, ok, err := tx.Rx.Snooze(a.UserID, kind, ref)
		if err != nil || !ok {
			return err
		}
		if err := tx.DeleteSnooze(a.UserID, kind, ref); err != nil {
			return err
		}
		tx.inboxIf(true)
		return tx.event(task.EvWoken, task.Event{TaskID: z.TaskID}, changes{"what": kind})
	})
}

func (s *Service) ownInbox(a task.Actor, kind task.InboxKind) error {
	if err := s.allowed(a, task.Person); err != nil {
		return err
	}
	if a.UserID == 0 {
		return task.Errorf(task.Forbidden, task.CodeForbidden, "Only people with an account have their own inbox")
	}
	return checkInboxKind("kind", kind)
}

// WakeSnoozed ends the snoozes whose time is over and returns of how many
// tasks. Open pages show what came back.
func (s *Service) WakeSnoozed(ctx context.Context) (int, error) {
	// Most of the time nothing is due: then nothing is written.
	due, err := read(ctx, s, func(rx *db.Rx) (bool, error) { return rx.SnoozesDue() })
	if err != nil || !due {
		return 0, err
	}
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (int, error) {
		tasks, err := tx.DropSnoozes()
		if err != nil {
			return 0, err
		}
		tx.inboxIf(len(tasks) > 0)
		for _, id := range tasks {
			if err := tx.event(task.EvWoken, task.Event{TaskID: id}, nil); err != nil {
				return 0, err
			}
		}
		return len(tasks), nil
	})
}

// Snoozed counts what the caller snoozed and what still waits.
func (s *Service) Snoozed(ctx context.Context, a task.Actor) (n task.InboxTotals, err error) {
	if a.UserID == 0 {
		return n, s.allowed(a, task.Read)
	}
	if err := s.allowed(a, task.Read); err != nil {
		return n, err
	}
	return read(ctx, s, func(rx *db.Rx) (task.InboxTotals, error) { return rx.SnoozeCounts(a.UserID, s.config().Attempts) })
}
