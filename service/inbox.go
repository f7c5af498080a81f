package service

import (
	"context"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// Inbox returns what waits for the caller, at most task.MaxInbox entries of
// each kind, without what they snoozed. Error: may not read.
func (s *Service) Inbox(ctx context.Context, a task.Actor) (b task.Inbox, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return b, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if b, err = rx.Inbox(task.InboxQuery{User: a.UserID, Limit: task.MaxInbox}, s.config().Attempts); err != nil {
			return err
		}
		b.Alerts, err = alerts(rx, a)
		return err
	})
	return b, err
}

// AcknowledgeNotice removes a notice from the inbox, also that of an archived
// task. Acknowledging twice is not an error. Errors: not a person, no such notice.
func (s *Service) AcknowledgeNotice(ctx context.Context, a task.Actor, message task.ID) (task.Message, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Message, error) {
		m, err := tx.notice(message)
		if err != nil {
			return m, err
		}
		waited, err := tx.DeleteNotice(message)
		if err != nil || !waited {
			return m, err
		}
		return m, tx.event(task.EvAcknowledged, task.Event{TaskID: m.TaskID}, changes{"message": message})
	})
}

// RestoreNotice undoes an acknowledgment: the notice waits again. One that
// waits already is no error. Errors: not a person, no such notice.
func (s *Service) RestoreNotice(ctx context.Context, a task.Actor, message task.ID) (task.Message, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Message, error) {
		m, err := tx.notice(message)
		if err != nil {
			return m, err
		}
		if restored, err := tx.InsertNotice(message, m.TaskID); err != nil || !restored {
			return m, err
		}
		return m, tx.event(task.EvUnacknowledged, task.Event{TaskID: m.TaskID}, changes{"message": message})
	})
}

// notice reads a notice that was given, also one that nobody waits for any
// more. Error: no such notice.
func (tx *txn) notice(message task.ID) (task.Message, error) {
	m, ok, err := tx.FindMessage(message)
	if err == nil && (!ok || m.Kind != task.KindNotice) {
		err = task.Errorf(task.NotFound, task.CodeNotFound, "No notice has the id %d", message)
	}
	return m, err
}

// InboxPage is all that the page of the inbox shows.
type InboxPage struct {
	task.Inbox
	Next    task.ID // with Only: After of the next page, 0 at the end
	Snoozed []task.Snooze
	Running []*task.Run  // the newest last, at most maxRunning
	Runs    int          // that are running
	Recent  []*task.Task // done or canceled lately, the newest first
	task.DayStats
}

// How many running runs and finished tasks the page of the inbox shows.
const (
	maxRunning = 10
	maxRecent  = 8
)

// InboxPage reads the caller's inbox with what happens around it; since is
// where the hours begin. Errors: may not read, unknown kind, bad limit.
func (s *Service) InboxPage(ctx context.Context, a task.Actor, q task.InboxQuery, since task.Time) (p InboxPage, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return p, err
	}
	if q.Only != "" {
		if err := checkInboxKind("only", q.Only); err != nil {
			return p, err
		}
	}
	if q.Limit < 1 || q.Limit > task.MaxInbox {
		return p, task.FieldErrorf("limit", "must be 1 to %d", task.MaxInbox)
	}
	q.User = a.UserID
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if err := s.readInboxPage(rx, q, since, &p); err != nil {
			return err
		}
		p.Alerts, err = alerts(rx, a)
		return err
	})
	return p, err
}

// maxMergeAlerts bounds the alerts about merges; a page has all of them.
const maxMergeAlerts = 5

// alerts are the failures that admins must hear of: of the scheduled backup, and
// of merges that wait because of their repository. They need no acknowledgment:
// a success takes them away.
func alerts(rx *db.Rx, a task.Actor) (list []task.InboxAlert, err error) {
	if !a.May(task.Admin) {
		return nil, nil
	}
	jobs, err := rx.Jobs()
	if err != nil {
		return nil, err
	}
	if j := jobs[task.JobBackup]; j.Failure != "" {
		list = append(list, task.InboxAlert{Job: j.Name, Text: j.Failure, At: j.LastAt})
	}
	merges, err := rx.WaitingMerges(maxMergeAlerts)
	for _, m := range merges {
		list = append(list, task.InboxAlert{
			Job: task.AlertMerge, At: m.StartedAt, Text: "#" + m.TaskID.String() + " into " + m.Into + ": " + m.Reason,
		})
	}
	return list, err
}

func (s *Service) readInboxPage(rx *db.Rx, q task.InboxQuery, since task.Time, p *InboxPage) (err error) {
	q.Limit++ // to know whether there is more
	if p.Inbox, err = rx.Inbox(q, s.config().Attempts); err != nil {
		return err
	}
	p.Next = p.Inbox.Cut(q.Limit - 1)
	if p.Snoozed, err = rx.Snoozes(q.User, s.config().Attempts, task.MaxInbox); err != nil {
		return err
	}
	if p.Running, p.Runs, err = rx.FirstRunning(maxRunning); err != nil {
		return err
	}
	if p.Recent, _, err = rx.History(task.HistoryFilter{Limit: maxRecent}); err != nil {
		return err
	}
	p.DayStats, err = s.readDay(rx, since)
	return err
}

// inboxIf records that the inbox changes with this transaction.
func (tx *txn) inboxIf(changes bool) {
	if changes {
		tx.signals.Topics = append(tx.signals.Topics, "inbox")
	}
}

// inboxKinds are the events that always change what waits for a person.
var inboxKinds = map[string]bool{
	task.EvAsked: true, task.EvAnswered: true, task.EvNotified: true, task.EvAcknowledged: true,
	task.EvUnacknowledged: true, task.EvTaskStuck: true, task.EvTaskCanceled: true,
	task.EvRunHeld: true, task.EvRunUndone: true, task.EvRunApproved: true,
	task.EvRunDenied: true, task.EvRunExpired: true, task.EvRunVoided: true,
	task.EvPermitAsked: true, task.EvPermitAllowed: true, task.EvPermitDenied: true, task.EvPermitExpired: true,
}

// Milestones returns what has happened on the instance for the first time; of one
// that is no longer new only where old is set. Error: may not read.
func (s *Service) Milestones(ctx context.Context, a task.Actor, old bool) (f task.Milestones, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return f, err
	}
	return read(ctx, s, func(rx *db.Rx) (task.Milestones, error) { return rx.Milestones(old) })
}

func checkInboxKind(field string, kind task.InboxKind) error {
	if slices.Contains(task.InboxKinds, kind) {
		return nil
	}
	var names []string
	for _, k := range task.InboxKinds {
		names = append(names, string(k))
	}
	return task.FieldErrorf(field, "must be one of %s", strings.Join(names, ", "))
}
