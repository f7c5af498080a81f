package service

import (
	"context"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// SetBlockedBy writes the whole set of tasks that must be done before an open
// task, drafts too, and wakes the owner when nothing blocks the task any
// more. A blocker that is done does not block; one that was canceled does,
// until a person leaves it out. A task may wait for its own subtasks, and a
// subtask for a task above it: only a circle of such edges cannot end, since
// completing a task never waits for its subtasks. Who works on the task may
// continue. Errors: invalid or unknown ids, too many, a circle, archived, not
// related, an agent leaves a canceled blocker out.
func (s *Service) SetBlockedBy(ctx context.Context, a task.Actor, id task.ID, blockers []task.ID) (*task.Task, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return s.onTask(ctx, a, id, func(tx *txn, tk *task.Task) error {
		set, err := s.checkBlockers(&tx.Rx, a, "taskIds", id, tk.BlockedBy, blockers)
		if err != nil || slices.Equal(set, tk.BlockedBy) {
			return err
		}
		if err := tx.checkMayDrop(tk, set); err != nil {
			return err
		}
		return tx.setBlockers(tk, set)
	})
}

// checkBlockers returns the ids sorted, each once, when each names a task
// that may block another one. Those in had block it already.
func (s *Service) checkBlockers(rx *db.Rx, a task.Actor, field string, id task.ID, before, ids []task.ID) ([]task.ID, error) {
	set := slices.Clone(ids)
	slices.Sort(set)
	set = slices.Compact(set)
	var p task.Problems
	if len(set) > task.MaxBlockers {
		p.Add(field, "must be at most %d tasks, not %d", task.MaxBlockers, len(set))
		return nil, p.Err()
	}
	if slices.Contains(set, id) {
		return nil, cycleError([]task.ID{id, id})
	}
	for _, b := range set {
		if slices.Contains(before, b) {
			continue
		}
		at := field + "[" + task.ID(slices.Index(ids, b)).String() + "]"
		if _, err := s.find(rx, a, b, false); task.IsCode(err, task.CodeTaskNotFound) {
			p.Add(at, "no task has the id %d", b)
			continue
		} else if err != nil {
			return nil, err
		}
		n, err := rx.BlocksCount(b)
		if err != nil {
			return nil, err
		}
		if n >= task.MaxBlocks {
			p.Add(at, "%d open tasks already wait for task %d, which is the limit", n, b)
		}
	}
	return set, p.Err()
}

func cycleError(path []task.ID) error {
	return task.Errorf(task.Conflict, task.CodeDependencyCycle, "Task %d would wait for itself: %s", path[0], task.JoinIDs(path, " → "))
}

// checkMayDrop refuses an agent that leaves out a canceled blocker: whether the
// task continues without it is a person's decision.
func (tx *txn) checkMayDrop(tk *task.Task, set []task.ID) error {
	if !tx.actor.IsAgent() || tk.BlockersCanceled == 0 {
		return nil
	}
	list, err := tx.OpenBlockers(tk.ID)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Status == task.Canceled && !slices.Contains(set, b.ID) {
			return task.Errorf(task.Forbidden, task.CodeForbidden,
				"blocker #%d of task %d was canceled: a person decides whether the task continues without it; "+
					"keep %d in the set, and ask people: notify_user with needs_reply", b.ID, tk.ID, b.ID)
		}
	}
	return nil
}

// setBlockers changes the set to a checked one, and wakes the owner when that
// frees the task.
func (tx *txn) setBlockers(tk *task.Task, set []task.ID) error {
	diff := changes{"blockedBy": [][]task.ID{append([]task.ID{}, tk.BlockedBy...), append([]task.ID{}, set...)}} // never null
	before := tk.Blocked
	if err := tx.writeBlockers(tk, set); err != nil {
		return err
	}
	if err := tx.checkNoCycle(tk.ID); err != nil {
		return err
	}
	if err := tx.recordChange(tk, task.EvBlockersSet, diff); err != nil {
		return err
	}
	if before == 0 || tk.Blocked > 0 {
		return nil
	}
	return tx.wake(tk, "nothing blocks it now")
}

// writeBlockers writes a checked set, also to tk.
func (tx *txn) writeBlockers(tk *task.Task, set []task.ID) error {
	if err := tx.SetBlockers(tk.ID, set); err != nil {
		return err
	}
	now, err := tx.TaskRow(tk.ID)
	if err != nil {
		return err
	}
	for _, b := range append(slices.Clone(tk.BlockedBy), set...) {
		if slices.Contains(tk.BlockedBy, b) != slices.Contains(set, b) {
			tx.signals.Topics = append(tx.signals.Topics, "task:"+b.String())
		}
	}
	tx.inboxIf(tk.BlockersCanceled+now.BlockersCanceled > 0)
	tk.BlockedBy, tk.Blocked, tk.BlockersCanceled = set, now.Blocked, now.BlockersCanceled
	return nil
}

// checkNoCycle refuses a set that is already written when it closes a circle. A
// task that no other waits for closes none.
func (tx *txn) checkNoCycle(id task.ID) error {
	n, err := tx.BlocksCount(id)
	if err != nil || n == 0 {
		return err
	}
	edges, err := tx.Dependencies(id)
	if err != nil {
		return err
	}
	if path := shortestCycle(edges, id); path != nil {
		return cycleError(path)
	}
	return nil
}

// shortestCycle returns the shortest way from a task back to itself, or nil.
func shortestCycle(edges map[task.ID][]task.ID, start task.ID) []task.ID {
	from := map[task.ID]task.ID{}
	for todo := []task.ID{start}; len(todo) > 0; todo = todo[1:] {
		for _, next := range edges[todo[0]] {
			if next == start {
				path := []task.ID{start}
				for at := todo[0]; at != start; at = from[at] {
					path = append(path, at)
				}
				slices.Reverse(path[1:])
				return append(path, start)
			}
			if _, seen := from[next]; !seen {
				from[next] = todo[0]
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// blockerEnded updates the open tasks that wait for an archived one. The last
// blocker that is done wakes the owner; a canceled one leaves its task
// blocked, in the inbox.
func (tx *txn) blockerEnded(tk *task.Task, status task.Status) error {
	list, err := tx.BlocksOpen(tk.ID)
	if err != nil {
		return err
	}
	for _, d := range list {
		if status == task.Done {
			err = tx.unblock(d, tk.ID)
		} else {
			err = tx.loseBlocker(d, tk.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *txn) unblock(d *task.Task, by task.ID) error {
	if err := tx.Unblock(d.ID); err != nil {
		return err
	}
	d.Blocked--
	if err := tx.taskEvent(task.EvBlockerDone, d, changes{"blocker": by, "left": d.Blocked}); err != nil {
		return err
	}
	return tx.wake(d, "blocker "+by.String()+" done")
}

func (tx *txn) loseBlocker(d *task.Task, by task.ID) error {
	if err := tx.LoseBlocker(d.ID); err != nil {
		return err
	}
	tx.inboxIf(true)
	text := "waits for #" + by.String() + ", which was canceled"
	if err := tx.enqueueNotification(task.OutBlocked, d.ID, d.Title, d.Owner, 0, text); err != nil {
		return err
	}
	return tx.taskEvent(task.EvBlockerLost, d, changes{"blocker": by})
}

// checkUnblocked refuses what a task that waits for others must not do.
func (tx *txn) checkUnblocked(tk *task.Task) error {
	if tk.Awaits != "" {
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s", tk.ID, awaitsText(tk))
	}
	words, err := tx.blockedText(tk)
	if err != nil || words == "" {
		return err
	}
	return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d is %s", tk.ID, words)
}

// blockedText says what a task waits for, such as "blocked by #40 and #41", and ""
// when it waits for no task.
func (tx *txn) blockedText(tk *task.Task) (string, error) {
	if tk.Blocked == 0 {
		return "", nil
	}
	list, err := tx.OpenBlockers(tk.ID)
	return "blocked by " + blockerNames(list), err
}

// blockerNames names tasks, the first five by number.
func blockerNames(list []*task.Task) string {
	const named = 5
	var words []string
	for i, b := range list {
		if i == named && len(list) > named+1 {
			words = append(words, task.ID(len(list)-named).String()+" more")
			break
		}
		w := "#" + b.ID.String()
		if b.Status == task.Canceled {
			w += " (canceled: a person decides)"
		}
		words = append(words, w)
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
