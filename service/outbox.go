package service

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"taskyard/db"
	"taskyard/task"
)

// TopicOutbox is published when there is something for an external service.
const TopicOutbox = "outbox"

// NotifyTarget is an external service, by its configured name, and what it is
// notified of.
type NotifyTarget struct {
	Name  string
	Kinds []task.OutKind
}

const (
	maxOutText  = 300 // characters of a line
	maxOutBatch = 200 // lines that one message sums up
)

// enqueueNotification records that something came to wait for a person: it is counted, and sent
// to the external services that asked for its kind, after the commit. What is
// "asks: North or south?", without the task.
func (tx *txn) enqueueNotification(kind task.OutKind, id task.ID, title, agent string, run task.ID, what string) error {
	if err := tx.CountAsked(id, agent); err != nil {
		return err
	}
	for _, n := range tx.s.config().Notify {
		if !slices.Contains(n.Kinds, kind) {
			continue
		}
		o := task.Outgoing{Kind: kind, TaskID: id, RunID: run, Text: oneLine("#" + id.String() + " " + title + ": " + what)}
		if err := tx.QueueOutgoing(n.Name, o); err != nil {
			return err
		}
		tx.signals.Topics = append(tx.signals.Topics, TopicOutbox)
	}
	return nil
}

// notifyMessage is enqueueNotification for a question or a notice.
func (tx *txn) notifyMessage(tk *task.Task, kind task.MessageKind, text string) error {
	out, verb := task.OutNotice, " says: "
	if kind == task.KindQuestion {
		out, verb = task.OutQuestion, " asks: "
	}
	return tx.enqueueNotification(out, tk.ID, tk.Title, tk.Owner, 0, task.ActorLabel(tx.actor.Name)+verb+text)
}

// notifyRun is enqueueNotification for a run that waits for a reviewer.
func (tx *txn) notifyRun(r *task.Run, what string) error {
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil {
		return err
	}
	return tx.enqueueNotification(task.OutApproval, tk.ID, tk.Title, tk.Owner, r.ID, r.Agent+" "+what)
}

// oneLine makes one short line without control characters of a hostile text.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) }), " ")
	if r := []rune(s); len(r) > maxOutText {
		s = string(r[:maxOutText]) + "…"
	}
	return s
}

// Outgoing returns what is to be sent to an external service now, the oldest first,
// and when the next line is due after that, 0 for none.
func (s *Service) Outgoing(ctx context.Context, target string) (list []task.Outgoing, next task.Time, err error) {
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if list, err = rx.Outbox(target, maxOutBatch); err != nil || len(list) > 0 {
			return err
		}
		next, err = rx.OutboxNext(target)
		return err
	})
	return list, next, err
}

// OutgoingSent removes lines that were sent from the outbox.
func (s *Service) OutgoingSent(ctx context.Context, list []task.Outgoing) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		for _, o := range list {
			if err := tx.DeleteOutgoing(o.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// OutgoingFailed records a failed attempt: each line is tried again after wait(tries),
// and dropped when that is negative. It returns how many were dropped.
func (s *Service) OutgoingFailed(ctx context.Context, list []task.Outgoing, wait func(tries int) time.Duration) (int, error) {
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (int, error) {
		dropped := 0
		for _, o := range list {
			var err error
			if d := wait(o.Tries + 1); d < 0 {
				dropped++
				err = tx.DeleteOutgoing(o.ID)
			} else {
				err = tx.DelayOutgoing(o.ID, d)
			}
			if err != nil {
				return 0, err
			}
		}
		return dropped, nil
	})
}

// dropRemovedTargets empties the outbox of services that are not configured any
// more.
func (tx *txn) dropRemovedTargets() error {
	names, err := tx.OutboxTargets()
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(tx.s.config().Notify, func(n NotifyTarget) bool { return n.Name == name }) {
			continue
		}
		if err := tx.ClearOutbox(name); err != nil {
			return err
		}
	}
	return nil
}
