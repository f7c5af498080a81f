package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// Inbox returns what waits for a person. Error: may not read.
func (s *Service) Inbox(ctx context.Context, a task.Actor) (b task.Inbox, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return b, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		b, err = rx.Inbox(s.cfg.Attempts)
		return err
	})
	return b, err
}

// AcknowledgeNotice takes a notice out of the inbox, also that of an archived
// task. Acknowledging twice is no error. Errors: not a person, no such notice.
func (s *Service) AcknowledgeNotice(ctx context.Context, a task.Actor, message task.ID) (task.Message, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (task.Message, error) {
		m, ok, err := t.FindMessage(message)
		if err != nil {
			return m, err
		}
		if !ok || m.Kind != task.KindNotice {
			return m, task.Errorf(task.NotFound, task.CodeNotFound, "No notice has the id %d", message)
		}
		waited, err := t.DeleteNotice(message)
		if err != nil || !waited {
			return m, err
		}
		return m, t.event(task.EvAcknowledged, task.Event{TaskID: m.TaskID}, changes{"message": message})
	})
}

// inboxIf notes that the inbox changes with this transaction.
func (t *tx) inboxIf(changes bool) {
	if changes {
		t.topics = append(t.topics, "inbox")
	}
}

// inboxKinds are the events that always change what waits for a person.
var inboxKinds = map[string]bool{
	task.EvAsked: true, task.EvAnswered: true, task.EvNotified: true, task.EvAcknowledged: true, task.EvTaskStuck: true, task.EvTaskCanceled: true,
	task.EvRunHeld: true, task.EvRunUndone: true, task.EvRunApproved: true, task.EvRunDenied: true, task.EvRunExpired: true, task.EvRunVoided: true,
	task.EvPermitAsked: true, task.EvPermitAllowed: true, task.EvPermitDenied: true, task.EvPermitExpired: true,
}
