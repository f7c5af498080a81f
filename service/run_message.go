package service

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// SendRunMessage queues a message of a person for the agent of a running run.
// Errors: not a person, blank, too long, unknown run, a run that has not
// started, is ending or has ended, a runner that takes no messages, too many
// messages.
func (s *Service) SendRunMessage(ctx context.Context, a task.Actor, run task.ID, text string) (*task.RunMessage, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return nil, err
	}
	if err := checkComment("text", text); err != nil {
		return nil, err
	}
	if _, err := s.quotas.take(a, quotaComments, 1, s.Now()); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.RunMessage, error) {
		r, err := tx.Run(run)
		if err != nil {
			return nil, err
		}
		n, err := tx.RunMessageCount(run)
		if err != nil {
			return nil, err
		}
		if why := s.NoMessages(r); why != "" {
			code := task.CodeNoRunMessages
			if r.Status.Final() {
				code = task.CodeRunEnded
			}
			return nil, task.Errorf(task.Conflict, code, "Run %d %s; comment on task %d instead; its next run reads it", r.ID, why, r.TaskID)
		}
		if n >= task.MaxRunMessages {
			return nil, task.Errorf(task.Conflict, task.CodeNoRunMessages,
				"Run %d already has %d messages, which is the limit; comment on task %d instead; its next run reads it",
				r.ID, n, r.TaskID)
		}
		id, err := tx.InsertRunMessage(run, a.Name, strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		tx.signals.Topics = append(tx.signals.Topics, inboxTopic(run))
		if err := tx.runEvent(task.EvRunMessage, r, changes{"message": id}); err != nil {
			return nil, err
		}
		return tx.RunMessage(run, id)
	})
}

// NoMessages returns why a run takes no message now, as the rest of a sentence
// about it; "" if it does.
func (s *Service) NoMessages(r *task.Run) string {
	switch {
	case r.Status.Final():
		return "has ended: " + r.State().Text()
	case r.Status != task.RunRunning:
		return "has not started"
	case r.ClosingAt != 0 || r.Phase == task.PhaseCondensing:
		return "is ending"
	case r.Worker != 0:
		return "works on another machine, where messages do not reach it"
	case !s.runTraits(r).Steers:
		return "takes no messages while it works: its runner cannot pass them on"
	}
	return ""
}

// inboxTopic returns the topic of new messages to a run.
func inboxTopic(run task.ID) string { return "run-messages:" + run.String() }

// FollowRunMessages subscribes to new messages to a run.
func (s *Service) FollowRunMessages(run task.ID) *Subscription {
	return s.hub.Subscribe(inboxTopic(run))
}

// RunMessages returns the messages to a run, oldest first. Errors: may not
// read, unknown run.
func (s *Service) RunMessages(ctx context.Context, a task.Actor, run task.ID) ([]task.RunMessage, error) {
	return readRun(ctx, s, a, run, func(rx *db.Rx, _ *task.Run) ([]task.RunMessage, error) { return rx.RunMessages(run) })
}

// QueuedRunMessages returns the messages that the agent of a run did not get
// yet, oldest first. Error: stale lease.
func (s *Service) QueuedRunMessages(ctx context.Context, id task.ID, lease int64) ([]task.RunMessage, error) {
	return read(ctx, s, func(rx *db.Rx) ([]task.RunMessage, error) {
		r, err := rx.Run(id)
		if err != nil {
			return nil, err
		}
		if r.Status != task.RunRunning || r.Lease != lease {
			return nil, staleLeaseError(r)
		}
		list, err := rx.RunMessages(id)
		return slices.DeleteFunc(list, func(m task.RunMessage) bool { return m.Delivered() }), err
	})
}

// DeliverRunMessage records that the agent of a run gets a message, and adds it
// to the transcript. It may be repeated. Errors: stale lease, no such message.
func (s *Service) DeliverRunMessage(ctx context.Context, id task.ID, lease int64, message task.ID) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		m, err := tx.RunMessage(id, message)
		switch {
		case err != nil:
			return err
		case m == nil:
			return task.Errorf(task.NotFound, task.CodeNotFound, "Run %d has no message %d", id, message)
		case m.Delivered():
			return nil
		}
		if err := tx.DeliverRunMessage(message); err != nil {
			return err
		}
		return tx.appendLines(r, []task.Message{messageLine(m, nil)})
	})
}

func messageLine(m *task.RunMessage, data json.RawMessage) task.Message {
	return task.Message{Role: task.SpeakerUser, Type: task.TypeMessage, Author: m.Author, Content: m.Text, Data: data}
}

// keepMessages keeps what the agent of a run that ends did not get, or what the
// next run would not know, as comments by those who said it. If the run
// completed, one more follows for that. An archived task takes no comment:
// there the transcript keeps it.
func (tx *txn) keepMessages(r *task.Run, to task.RunStatus) error {
	list, err := tx.RunMessages(r.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil {
		return err
	}
	for i := range list {
		if m := &list[i]; to != task.RunCompleted || !m.Delivered() {
			if err := tx.keepMessage(r, tk, m, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *txn) keepMessage(r *task.Run, tk *task.Task, m *task.RunMessage, to task.RunStatus) error {
	if tk.Status.Archived() {
		if m.Delivered() {
			return nil
		}
		return tx.appendLines(r, []task.Message{messageLine(m, json.RawMessage(`{"undelivered":true}`))})
	}
	id, err := tx.addMessage(tk.ID, task.KindComment, m.Author, m.Text)
	if err != nil {
		return err
	}
	if to == task.RunCompleted && !r.Delegated() {
		r.FollowUp = true
		why := "message by " + m.Author + " that run " + r.ID.String() + " did not get"
		if !strings.Contains(r.FollowUpReason, why) {
			r.FollowUpReason = strings.TrimPrefix(r.FollowUpReason+"\n"+why, "\n")
		}
	}
	return tx.event(task.EvCommented, task.Event{TaskID: tk.ID, RunID: r.ID, Agent: tk.Owner}, changes{"message": id})
}
