package service

import (
	"context"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// comment appends to a thread and moves the task's version.
func (tx *txn) comment(id task.ID, kind task.MessageKind, author, text string) error {
	_, err := tx.addMessage(id, kind, author, text)
	return err
}

// addMessage is comment that returns the message's ID.
func (tx *txn) addMessage(id task.ID, kind task.MessageKind, author, text string) (task.ID, error) {
	m, err := tx.InsertMessage(task.Message{TaskID: id, Kind: kind, Author: author, Content: text})
	if err != nil {
		return 0, err
	}
	return m, tx.Touch(id)
}

func checkComment(field, text string) error {
	var p task.Problems
	p.CheckComment(field, text)
	return p.Err()
}

// mayComment lets everybody comment on any task but runs, which may where they
// may change, and on their own task and those above it.
func (tx *txn) mayComment(tk *task.Task) error {
	if tx.actor.RunID == 0 {
		return nil
	}
	run, err := tx.Run(tx.actor.RunID)
	if err != nil || run.TaskID == tk.ID {
		return err
	}
	if at, err := findRelation(&tx.Rx, run.TaskID, tk.ID); err != nil || at == above {
		return err
	}
	return checkRelated(&tx.Rx, tx.actor, tk)
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
	return mutate(ctx, s, a, func(tx *txn) (task.Message, error) {
		tk, err := tx.find(id, false)
		if err != nil {
			return task.Message{}, err
		}
		if err := tx.mayComment(tk); err != nil {
			return task.Message{}, err
		}
		if tk.Status.Archived() {
			return task.Message{}, archivedError(tk)
		}
		m, err := tx.addMessage(id, task.KindComment, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if err := tx.recordComment(tk); err != nil {
			return task.Message{}, err
		}
		if err := tx.taskEvent(task.EvCommented, tk, changes{"message": m}); err != nil {
			return task.Message{}, err
		}
		if err := tx.renew(tk); err != nil {
			return task.Message{}, err
		}
		if !a.IsAgent() && tk.Status == task.Active {
			if err := tx.wake(tk, "comment by "+a.Name); err != nil {
				return task.Message{}, err
			}
		}
		return tx.Message(m)
	})
}

// Notify sends people a message, which waits in the inbox until a person
// acknowledges it. Errors: blank, archived.
func (s *Service) Notify(ctx context.Context, a task.Actor, id task.ID, text string) (task.Message, error) {
	return s.toPeople(ctx, a, id, task.KindNotice, text, func(tx *txn, _ *task.Task, m task.ID) error {
		_, err := tx.InsertNotice(m, id)
		return err
	})
}

// Ask asks people a question: until a person replies, it keeps signups, ticks
// and wakes off the task. The claim of the holder who asks ends, so that the
// next signup after the answer returns the task, unless keepClaim is set; that
// of a run ends with the run. Errors: blank, archived, not active, a question
// is open already.
func (s *Service) Ask(ctx context.Context, a task.Actor, id task.ID, text string, keepClaim bool) (task.Message, error) {
	return s.toPeople(ctx, a, id, task.KindQuestion, text, func(tx *txn, tk *task.Task, m task.ID) error {
		switch {
		case tk.QuestionID != 0:
			return task.Errorf(task.Conflict, task.CodeQuestionOpen, "A question is already open on task %d; wait for the answer", id)
		case tk.Status != task.Active:
			return task.Errorf(task.Conflict, task.CodeTaskNotActive, "Task %d is a draft: start it before asking", id)
		case tk.Awaits != "":
			return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s: comment instead", id, awaitsText(tk))
		}
		if err := tx.SetQuestion(id, m); err != nil {
			return err
		}
		if keepClaim || tk.OpenRunID != 0 || !tk.Claim.Live(tx.Now) || tk.Claim.Holder != a.Name {
			return nil
		}
		if err := tx.release(tk, "waits for the answer to a question"); err != nil {
			return err
		}
		tk.Claim = nil
		return nil
	})
}

// toPeople writes a message of a task to people, and what it opens.
func (s *Service) toPeople(ctx context.Context, a task.Actor, id task.ID, kind task.MessageKind, text string,
	open func(tx *txn, tk *task.Task, m task.ID) error,
) (task.Message, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.Message{}, err
	}
	if err := checkComment("message", text); err != nil {
		return task.Message{}, err
	}
	if _, err := s.quotas.take(a, quotaNotices, 1, s.Now()); err != nil {
		return task.Message{}, err
	}
	event := task.EvNotified
	if kind == task.KindQuestion {
		event = task.EvAsked
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Message, error) {
		tk, err := tx.open(id, false)
		if err != nil {
			return task.Message{}, err
		}
		m, err := tx.addMessage(id, kind, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if err := open(tx, tk, m); err != nil {
			return task.Message{}, err
		}
		if err := tx.recordComment(tk); err != nil {
			return task.Message{}, err
		}
		if err := tx.taskEvent(event, tk, changes{"message": m}); err != nil {
			return task.Message{}, err
		}
		if err := tx.notifyMessage(tk, kind, text); err != nil {
			return task.Message{}, err
		}
		if err := tx.renew(tk); err != nil {
			return task.Message{}, err
		}
		return tx.Message(m)
	})
}

// Reply is a person's answer to the open question; it closes it, puts the task
// first in its queue and wakes the owner. Errors: not a person, blank, no open
// question.
func (s *Service) Reply(ctx context.Context, a task.Actor, id task.ID, text string) (task.Message, error) {
	return s.ReplyTo(ctx, a, id, 0, text)
}

// ReplyTo is Reply to the question that the person read, 0 for the open one.
// Error: also that question is not open any more.
func (s *Service) ReplyTo(ctx context.Context, a task.Actor, id, question task.ID, text string) (task.Message, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.Message{}, err
	}
	if err := checkComment("content", text); err != nil {
		return task.Message{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Message, error) {
		tk, err := tx.open(id, false)
		if err != nil {
			return task.Message{}, err
		}
		if tk.QuestionID == 0 || question != 0 && question != tk.QuestionID {
			return task.Message{}, tx.answeredError(tk, question)
		}
		m, err := tx.addMessage(id, task.KindAnswer, a.Name, strings.TrimSpace(text))
		if err != nil {
			return task.Message{}, err
		}
		if err := tx.SetQuestion(id, 0); err != nil {
			return task.Message{}, err
		}
		if err := tx.SetResumes(id); err != nil {
			return task.Message{}, err
		}
		c := changes{"question": tk.QuestionID, "message": m}
		if err := tx.taskEvent(task.EvAnswered, tk, c); err != nil {
			return task.Message{}, err
		}
		tk.QuestionID = 0
		if err := tx.wake(tk, "answer by "+a.Name); err != nil {
			return task.Message{}, err
		}
		return tx.Message(m)
	})
}

// answeredError says why a question cannot be answered: who has already done it, if
// that is known. question is 0 if the caller means whichever is open.
func (tx *txn) answeredError(tk *task.Task, question task.ID) error {
	why, next := "No question is open on task "+tk.ID.String(), "; comment instead"
	if tk.QuestionID != 0 {
		why, next = "This question is not open on task "+tk.ID.String(), "; another one is open now: read it and answer again"
	}
	if question != 0 {
		list, err := tx.Rx.Comments(tk.ID, question, 100)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(list, func(m task.Message) bool { return m.Kind == task.KindAnswer }); i >= 0 {
			why = task.ActorLabel(list[i].Author) + " has already answered this question on task " + tk.ID.String()
		}
	}
	return task.Errorf(task.Conflict, task.CodeNoQuestion, "%s%s", why, next)
}

// Comments returns up to limit messages of a task's thread after an id, without
// its runs, oldest first.
func (s *Service) Comments(ctx context.Context, a task.Actor, id, after task.ID, limit int) ([]task.Message, error) {
	return s.messages(ctx, a, id, func(rx *db.Rx) ([]task.Message, error) { return rx.Comments(id, after, limit) })
}

// Thread is Comments with a message for each run that was started and has
// ended: of kind run, with its summary or reason, and status and phase as data.
func (s *Service) Thread(ctx context.Context, a task.Actor, id, after task.ID, limit int) ([]task.Message, error) {
	return s.messages(ctx, a, id, func(rx *db.Rx) ([]task.Message, error) { return rx.Thread(id, after, limit) })
}

func (s *Service) messages(ctx context.Context, a task.Actor, id task.ID,
	list func(*db.Rx) ([]task.Message, error),
) ([]task.Message, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	var tk *task.Task
	found, err := read(ctx, s, func(rx *db.Rx) (_ []task.Message, err error) {
		if tk, err = s.find(rx, a, id, false); err != nil {
			return nil, err
		}
		return list(rx)
	})
	if err == nil {
		err = s.renewByReading(ctx, a, tk)
	}
	return found, err
}
