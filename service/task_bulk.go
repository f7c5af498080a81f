package service

import (
	"context"
	"errors"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// BulkAct is what is done to each of many tasks.
type BulkAct string

// The acts.
const (
	BulkMove     BulkAct = "move"     // To, Text: the comment
	BulkPriority BulkAct = "priority" // Priority
	BulkLabel    BulkAct = "label"    // Labels are added
	BulkUnlabel  BulkAct = "unlabel"  // Labels are taken away
	BulkStart    BulkAct = "start"    // drafts become active
	BulkRun      BulkAct = "run"      // a run is made of each at once, also of those that failed too often
	BulkComplete BulkAct = "complete" // Text: the summary
	BulkCancel   BulkAct = "cancel"   // Text: the reason; subtasks go with it
)

// Bulk is one act on many tasks.
type Bulk struct {
	Act      BulkAct
	IDs      []task.ID
	To       string
	Priority int
	Labels   []string
	Text     string
}

// BulkSkip is a task that was left as it is.
type BulkSkip struct {
	ID     task.ID `json:"id"`
	Reason string  `json:"reason"`
}

// BulkDone is the outcome of an action on many tasks.
type BulkDone struct {
	Done    []task.ID  `json:"done"`
	Along   int        `json:"along"` // subtasks that were canceled with them
	Skipped []BulkSkip `json:"skipped"`
}

// Bulk does one act to each task, in the order given, in one transaction.
// What a task refuses is skipped with the reason, and keeps nobody else.
// Errors, which leave everything as it was: not a person, no or too many
// tasks, a wrong input, unknown or invalid agent.
func (s *Service) Bulk(ctx context.Context, a task.Actor, b Bulk) (BulkDone, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return BulkDone{}, err
	}
	if err := s.checkBulk(&b); err != nil {
		return BulkDone{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (BulkDone, error) {
		out := BulkDone{Done: []task.ID{}, Skipped: []BulkSkip{}}
		archived := map[task.ID]bool{} // with a task above
		for _, id := range b.IDs {
			if archived[id] {
				continue
			}
			var along []task.ID
			err := tx.attempt(func() (err error) {
				along, err = tx.bulkOne(id, &b)
				return err
			})
			var e *task.Error
			switch {
			case errors.As(err, &e):
				out.Skipped = append(out.Skipped, BulkSkip{id, e.Message})
				continue
			case err != nil:
				return BulkDone{}, err
			}
			out.Done = append(out.Done, id)
			for _, sub := range along {
				if !slices.Contains(out.Done, sub) {
					archived[sub] = true
					out.Along++
				}
			}
		}
		return out, nil
	})
}

func (s *Service) checkBulk(b *Bulk) error {
	slices.Sort(b.IDs)
	b.IDs = slices.Compact(b.IDs)
	var p task.Problems
	if len(b.IDs) < 1 || len(b.IDs) > task.MaxBulk {
		p.Add("id", "must name 1 to %d tasks, not %d", task.MaxBulk, len(b.IDs))
	}
	switch b.Act {
	case BulkMove:
		p.CheckComment("comment", b.Text)
		if err := p.Err(); err != nil {
			return err
		}
		return s.checkOwner("to", b.To, task.Draft)
	case BulkPriority:
		p.CheckPriority("priority", b.Priority)
	case BulkLabel, BulkUnlabel:
		b.Labels = p.CheckLabels("labels", b.Labels)
		if len(b.Labels) == 0 {
			p.Add("labels", "must name at least one label")
		}
	case BulkComplete:
		p.CheckText("summary", b.Text, task.MaxText)
	case BulkCancel:
		p.CheckText("reason", b.Text, task.MaxText)
	case BulkStart, BulkRun:
	default:
		p.Add("act", "must be move, priority, label, unlabel, start, run, complete or cancel")
	}
	return p.Err()
}

// attempt runs fn so that its error undoes what it wrote, and what it wanted
// to be told.
func (tx *txn) attempt(fn func() error) error {
	before := tx.signals
	err := tx.Nested(fn)
	if err != nil {
		tx.signals = before
	}
	return err
}

// bulkOne does the act to one task and returns what was canceled with it.
func (tx *txn) bulkOne(id task.ID, b *Bulk) ([]task.ID, error) {
	tk, err := tx.findOpen(id)
	if err != nil {
		return nil, err
	}
	switch b.Act {
	case BulkMove:
		if tk.Owner == b.To {
			return nil, sameError(tk, "belongs to "+b.To)
		}
		return nil, tx.handOverByPerson(tk, b.To, b.Text, true)
	case BulkPriority:
		if tk.Priority == b.Priority {
			return nil, sameError(tk, "has the priority "+task.ID(b.Priority).String())
		}
		return nil, tx.patchFields(tk, task.Patch{Priority: &b.Priority}, false)
	case BulkLabel, BulkUnlabel:
		return nil, tx.relabel(tk, b)
	case BulkStart:
		if err := tk.Status.MoveErr(id, task.Active); err != nil {
			return nil, err
		}
		if err := tx.s.checkOwner("owner", tk.Owner, task.Active); err != nil {
			return nil, err
		}
		if err := tx.checkFitsProject("owner", tk.Owner, tk.Project); err != nil {
			return nil, err
		}
		return nil, tx.start(tk)
	case BulkRun:
		_, err := tx.runNow(tk, newRun{cause: task.CauseManual, attempt: 1})
		return nil, err
	case BulkComplete:
		if err := tk.Status.MoveErr(id, task.Done); err != nil {
			return nil, err
		}
		return nil, tx.complete(tk, b.Text)
	}
	ids, err := tx.cancel(tk, b.Text)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids[1:], nil
}

func sameError(tk *task.Task, what string) error {
	return task.Errorf(task.Conflict, task.CodeTransition, "Task %d %s already", tk.ID, what)
}

func (tx *txn) relabel(tk *task.Task, b *Bulk) error {
	var p task.Problems
	var list []string
	if b.Act == BulkLabel {
		list = p.CheckLabels("labels", slices.Concat(tk.Labels, b.Labels))
	} else {
		list = slices.DeleteFunc(slices.Clone(tk.Labels), func(l string) bool { return slices.Contains(b.Labels, l) })
	}
	if err := p.Err(); err != nil {
		return err
	}
	if slices.Equal(list, tk.Labels) {
		if b.Act == BulkLabel {
			return sameError(tk, "has these labels")
		}
		return task.Errorf(task.Conflict, task.CodeTransition, "Task %d has none of these labels", tk.ID)
	}
	return tx.patchFields(tk, task.Patch{Labels: &list}, false)
}

// Matching returns how many open tasks fit a filter, and the ids of at most
// limit of them, in queue order. Over task.MaxCounted it stops to count.
// Errors as OpenTasks.
func (s *Service) Matching(ctx context.Context, a task.Actor, f task.TaskFilter, limit int) (n int, ids []task.ID, err error) {
	if err := s.mayList(a, f); err != nil {
		return 0, nil, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if n, err = rx.CountOpenTasks(f); err != nil || limit == 0 {
			return err
		}
		ids, err = rx.OpenTaskIDs(f, limit)
		return err
	})
	return n, ids, err
}

// TasksByID returns those of at most 500 tasks that there are, in the order
// given. Error: may not read.
func (s *Service) TasksByID(ctx context.Context, a task.Actor, ids []task.ID) ([]*task.Task, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) { return rx.TasksByID(ids[:min(len(ids), 500)]) })
}

// CountDescendants counts the open subtasks, at any depth, that end with tasks that
// are canceled together. Error: may not read.
func (s *Service) CountDescendants(ctx context.Context, a task.Actor, ids []task.ID) (int, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return 0, err
	}
	return read(ctx, s, func(rx *db.Rx) (int, error) { return rx.CountDescendants(ids) })
}
