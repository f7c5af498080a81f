package service

import (
	"context"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// comment appends to a thread and moves the task's version.
func (t *tx) comment(id task.ID, kind task.MessageKind, author, text string) error {
	_, err := t.say(id, kind, author, text)
	return err
}

func (t *tx) say(id task.ID, kind task.MessageKind, author, text string) (task.ID, error) {
	m, err := t.InsertMessage(task.Message{TaskID: id, Kind: kind, Author: author, Content: text})
	if err != nil {
		return 0, err
	}
	return m, t.Touch(id)
}

func checkComment(field, text string) error {
	var p task.Problems
	p.CheckComment(field, text)
	return p.Err()
}

// mayComment lets everybody comment on any task but runs, which may where they
// may change, and on their own task and those above it.
func (t *tx) mayComment(k *task.Task) error {
	if t.actor.RunID == 0 {
		return nil
	}
	run, err := t.Run(t.actor.RunID)
	if err != nil || run.TaskID == k.ID {
		return err
	}
	if at, err := relationOf(&t.Rx, run.TaskID, k.ID); err != nil || at == above {
		return err
	}
	return related(&t.Rx, t.actor, k)
}

// Comment adds a comment by the caller to any open task. A person's comment
// wakes the owner of an active task. Errors: blank, archived, a run that has
// nothing to do with the task.
func (s *Service) Comment(ctx context.Context, a task.Actor, id task.ID, text string) (task.Message, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.Message{}, err
	}
	if err := checkComment("content", text); err != nil {
		return task.Message{}, err
	}
	if _, err := s.quotas.take(a, quotaComments, 1, s.Now()); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (task.Message, error) {
		k, err := t.find(id, false)
		if err != nil {
			return task.Message{}, err
		}
		if err := t.mayComment(k); err != nil {
			return task.Message{}, err
		}
		if k.Status.Archived() {
			return task.Message{}, archived(k)
		}
		m, err := t.say(id, task.KindComment, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if err := t.spoke(k); err != nil {
			return task.Message{}, err
		}
		if err := t.event(task.EvCommented, task.Event{TaskID: id, Agent: k.Owner}, changes{"message": m}); err != nil {
			return task.Message{}, err
		}
		if err := t.renew(k); err != nil {
			return task.Message{}, err
		}
		if !a.IsAgent() && k.Status == task.Active {
			if err := t.wake(k, "comment by "+a.Name); err != nil {
				return task.Message{}, err
			}
		}
		return t.Message(m)
	})
}

// Notify tells people something, or asks them with needsReply: an open
// question keeps signups, ticks and wakes off the task until a person
// replies. A notice waits in the inbox until a person acknowledges it. Errors: blank, archived, not active, a question is open already.
func (s *Service) Notify(ctx context.Context, a task.Actor, id task.ID, text string, needsReply bool) (task.Message, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.Message{}, err
	}
	if err := checkComment("message", text); err != nil {
		return task.Message{}, err
	}
	if _, err := s.quotas.take(a, quotaNotices, 1, s.Now()); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (task.Message, error) {
		k, err := t.open(id, false)
		if err != nil {
			return task.Message{}, err
		}
		kind, ev := task.KindNotice, task.EvNotified
		if needsReply {
			kind, ev = task.KindQuestion, task.EvAsked
			if k.QuestionID != 0 {
				return task.Message{}, task.Errorf(task.Conflict, task.CodeQuestionOpen, "A question is already open on task %d; wait for the answer", id)
			}
			if k.Status != task.Active {
				return task.Message{}, task.Errorf(task.Conflict, task.CodeTaskNotActive, "Task %d is a draft: start it before asking", id)
			}
		}
		m, err := t.say(id, kind, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if needsReply {
			err = t.SetQuestion(id, m)
		} else {
			_, err = t.InsertNotice(m, id)
		}
		if err != nil {
			return task.Message{}, err
		}
		if err := t.spoke(k); err != nil {
			return task.Message{}, err
		}
		if err := t.event(ev, task.Event{TaskID: id, Agent: k.Owner}, changes{"message": m}); err != nil {
			return task.Message{}, err
		}
		if err := t.notifyWord(k, kind, text); err != nil {
			return task.Message{}, err
		}
		if err := t.renew(k); err != nil {
			return task.Message{}, err
		}
		return t.Message(m)
	})
}

// Reply is a person's answer to the open question; it closes it and wakes the
// owner. Errors: not a person, blank, no open question.
func (s *Service) Reply(ctx context.Context, a task.Actor, id task.ID, text string) (task.Message, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Message{}, err
	}
	if err := checkComment("content", text); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(t *tx) (task.Message, error) {
		k, err := t.open(id, false)
		if err != nil {
			return task.Message{}, err
		}
		if k.QuestionID == 0 {
			return task.Message{}, task.Errorf(task.Conflict, task.CodeNoQuestion, "No question is open on task %d; comment instead", id)
		}
		m, err := t.say(id, task.KindAnswer, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if err := t.SetQuestion(id, 0); err != nil {
			return task.Message{}, err
		}
		if err := t.event(task.EvAnswered, task.Event{TaskID: id, Agent: k.Owner}, changes{"question": k.QuestionID, "message": m}); err != nil {
			return task.Message{}, err
		}
		k.QuestionID = 0
		if err := t.wake(k, "answer by "+a.Name); err != nil {
			return task.Message{}, err
		}
		return t.Message(m)
	})
}

// Thread returns up to limit comments of a task after an id, oldest first.
func (s *Service) Thread(ctx context.Context, a task.Actor, id, after task.ID, limit int) ([]task.Message, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.Message, error) {
		if err := s.sees(rx, a, id); err != nil {
			return nil, err
		}
		if _, err := rx.TaskBare(id); err != nil {
			return nil, err
		}
		return rx.Thread(id, after, limit)
	})
}
