package db

import (
	"strings"

	"taskyard/task"
)

// waits counts the blockers of a task that are not done, and those of them
// that never will be.
const (
	waits     = "SELECT count(*) FROM blockers b JOIN tasks k ON k.id = b.blocker_id WHERE b.task_id = tasks.id AND k.status <> 'done'"
	waitsGone = "SELECT count(*) FROM blockers b JOIN tasks k ON k.id = b.blocker_id WHERE b.task_id = tasks.id AND k.status = 'canceled'"
)

// SetBlockers writes the whole set of tasks that must be done before an open
// task, and its counts; its version stays.
func (tx *Tx) SetBlockers(id task.ID, blockers []task.ID) error {
	if err := tx.do("DELETE FROM blockers WHERE task_id = ?", id); err != nil {
		return err
	}
	for _, b := range blockers {
		if err := tx.do("INSERT INTO blockers (task_id, blocker_id) VALUES (?, ?)", id, b); err != nil {
			return err
		}
	}
	return tx.do("UPDATE tasks SET blocked = ("+waits+"), blockers_canceled = ("+waitsGone+") WHERE id = ?", id)
}

// Unblock takes one blocker that is done off the count of an open task.
func (tx *Tx) Unblock(id task.ID) error {
	return tx.do("UPDATE tasks SET blocked = blocked - 1, version = version + 1, updated_at = ? WHERE id = ?", tx.Now, id)
}

// LoseBlocker records that a blocker of an open task was canceled.
func (tx *Tx) LoseBlocker(id task.ID) error {
	return tx.do("UPDATE tasks SET blockers_canceled = blockers_canceled + 1, version = version + 1, updated_at = ? WHERE id = ?", tx.Now, id)
}

// Blockers returns the tasks that must be done before a task, by id, as cards.
func (rx *Rx) Blockers(id task.ID) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskCard+" FROM blockers b JOIN tasks t ON t.id = b.blocker_id WHERE b.task_id = ? ORDER BY b.blocker_id", id)
}

// OpenBlockers returns the blockers of a task that are not done, by id, bare.
func (rx *Rx) OpenBlockers(id task.ID) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskRow+" FROM blockers b JOIN tasks t ON t.id = b.blocker_id "+
		"WHERE b.task_id = ? AND t.status <> 'done' ORDER BY b.blocker_id", id)
}

// Blocks returns tasks that wait for a task or did, by id, as cards.
func (rx *Rx) Blocks(id task.ID, limit int) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskCard+" FROM blockers b JOIN tasks t ON t.id = b.task_id "+
		"WHERE b.blocker_id = ? ORDER BY b.task_id LIMIT ?", id, limit)
}

// BlocksOpen returns the open tasks that wait for a task, by id, bare.
func (rx *Rx) BlocksOpen(id task.ID) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskRow+" FROM blockers b JOIN tasks t ON t.id = b.task_id "+
		"WHERE b.blocker_id = ? AND t.archived_at IS NULL ORDER BY b.task_id", id)
}

// BlocksCount counts the open tasks that wait for a task.
func (rx *Rx) BlocksCount(id task.ID) (int, error) {
	return rx.count("SELECT count(*) FROM blockers b JOIN tasks t ON t.id = b.task_id WHERE b.blocker_id = ? AND t.archived_at IS NULL", id)
}

// Dependencies returns what a task waits for, directly or indirectly:
// open task → the tasks in its set. Archived tasks wait for nothing, so the
// walk ends at them.
func (rx *Rx) Dependencies(id task.ID) (map[task.ID][]task.ID, error) {
	rows := rx.query(`WITH RECURSIVE up (id) AS (
 SELECT id FROM tasks WHERE id = ?
 UNION SELECT b.blocker_id FROM up CROSS JOIN blockers b ON b.task_id = up.id CROSS
 JOIN tasks k ON k.id = b.blocker_id WHERE k.archived_at IS NULL)
 SELECT b.task_id, b.blocker_id FROM up CROSS JOIN blockers b ON b.task_id = up.id ORDER BY b.task_id, b.blocker_id`, id)
	edges := map[task.ID][]task.ID{}
	err := each(rows, func(r rowScanner) error {
		var from, to task.ID
		err := r.Scan(&from, &to)
		edges[from] = append(edges[from], to)
		return err
	})
	return edges, err
}

// idList reads what group_concat makes of ids.
func idList(s string) ([]task.ID, error) {
	if s == "" {
		return []task.ID{}, nil
	}
	parts := strings.Split(s, ",")
	ids := make([]task.ID, len(parts))
	for i, p := range parts {
		id, err := task.ParseID(p)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
