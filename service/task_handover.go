package service

import (
	"context"
	"encoding/json"
	"strings"

	"taskyard/task"
)

// HandOver is what a person says of a hand-over.
type HandOver struct {
	TaskID  task.ID
	From    string // the owner that the person saw
	To      string
	Comment string // by the person
	Quiet   bool   // the new owner is not woken: nothing runs that did not before
}

// HandOver gives an open task to another agent, whether somebody works on it
// or not, with a comment, and wakes the new owner. Errors: not a person,
// unknown task or agent, blank comment, archived, or no longer From's: these
// two say who did it and when.
func (s *Service) HandOver(ctx context.Context, a task.Actor, h HandOver) (*task.Task, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return nil, err
	}
	if err := checkComment("comment", h.Comment); err != nil {
		return nil, joinInvalid(err, s.checkOwner("newAgent", h.To, task.Draft))
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.findOpen(h.TaskID)
		if err != nil {
			return nil, err
		}
		if tk.Owner != h.From {
			return nil, task.Errorf(task.Conflict, task.CodeNotAssigned, "Task %d is no longer assigned to %s (currently assigned to: %s)%s",
				tk.ID, h.From, tk.Owner, tx.lastChange(tk.ID, changed("owner")))
		}
		if err := tx.handOverByPerson(tk, h.To, h.Comment, !h.Quiet); err != nil {
			return nil, err
		}
		return tx.Task(tk.ID)
	})
}

// handOverByPerson hands a task over in the name of the person who does it.
func (tx *txn) handOverByPerson(tk *task.Task, to, comment string, wakes bool) error {
	if err := tx.s.checkOwner("newAgent", to, tk.Status); err != nil {
		return err
	}
	if err := tx.checkFitsProject("newAgent", to, tk.Project); err != nil {
		return err
	}
	if err := tx.comment(tk.ID, task.KindHandoff, tx.actor.Name, strings.TrimSpace(comment)); err != nil {
		return err
	}
	return tx.transfer(tk, to, strings.TrimSpace(comment), wakes)
}

// Reprioritize changes the priority of an open task if it is still the one that
// the caller saw. A task that already has the new priority does not change.
// Errors: not a person, out of bounds, unknown task, archived, changed by
// someone else; the last two say by whom and when.
func (s *Service) Reprioritize(ctx context.Context, a task.Actor, id task.ID, was, to int) (*task.Task, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return nil, err
	}
	if err := checkPatch(&task.Patch{Priority: &to}); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Task, error) {
		tk, err := tx.findOpen(id)
		if err != nil {
			return nil, err
		}
		if tk.Priority != was && tk.Priority != to {
			e := task.Errorf(task.Conflict, task.CodeStaleVersion, "The priority of task %d is now %d, not %d%s",
				id, tk.Priority, was, tx.lastChange(id, changed("priority")))
			e.Task, err = tx.Task(id)
			if err != nil {
				return nil, err
			}
			return nil, e
		}
		if err := tx.patchFields(tk, task.Patch{Priority: &to}, false); err != nil {
			return nil, err
		}
		return tx.Task(id)
	})
}

// findOpen returns an open task whole, or the error that says who ended it.
func (tx *txn) findOpen(id task.ID) (*task.Task, error) {
	tk, err := tx.TaskWithTexts(id)
	if err != nil || !tk.Status.Archived() {
		return tk, err
	}
	ended := func(e task.Event) bool { return e.Kind == task.EvTaskCompleted || e.Kind == task.EvTaskCanceled }
	return nil, task.Errorf(task.Conflict, task.CodeArchived, "Task %d is %s%s: archived tasks are read-only; create a follow-up",
		id, tk.Status, tx.lastChange(id, ended))
}

// changed reports whether an event changed a field.
func changed(field string) func(task.Event) bool {
	return func(e task.Event) bool {
		var fields map[string]json.RawMessage
		return json.Unmarshal(e.Changes, &fields) == nil && fields[field] != nil
	}
}

// lastChange says who caused the newest event of a kind, and when, as the end
// of a sentence; "" when the log does not tell.
func (tx *txn) lastChange(id task.ID, is func(task.Event) bool) string {
	list, err := tx.LastEvents(id, 100)
	if err != nil {
		return "" // the sentence is true without it
	}
	for i := len(list) - 1; i >= 0; i-- {
		if is(list[i]) {
			return ", by " + task.ActorLabel(list[i].Actor) + " at " + list[i].At.Std().UTC().Format("15:04 UTC")
		}
	}
	return ""
}
