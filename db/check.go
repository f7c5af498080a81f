package db

import (
	"fmt"

	"taskyard/task"
)

// invariants are statements that find rows which must not be.
var invariants = []struct{ what, sql string }{
	{"a claim without an active task", "SELECT id FROM tasks WHERE claim_holder IS NOT NULL AND status <> 'active'"},
	{"a claim whose holder is not the owner", "SELECT id FROM tasks WHERE claim_holder IS NOT NULL AND claim_holder <> owner"},
	{"an archived task that still waits", "SELECT id FROM tasks WHERE archived_at IS NOT NULL " +
		"AND (run_id IS NOT NULL OR question_id IS NOT NULL)"},
	{"a gate without its open run", "SELECT t.id FROM tasks t WHERE t.run_id IS NOT NULL AND NOT EXISTS (SELECT 1 " +
		"FROM runs r WHERE r.id = t.run_id AND r.task_id = t.id AND r.ended_at IS NULL)"},
	{"an open run without its gate", "SELECT r.task_id FROM runs r JOIN tasks t ON t.id = r.task_id " +
		"WHERE r.ended_at IS NULL AND t.archived_at IS NULL AND t.run_id IS DISTINCT FROM r.id"},
	{"two open runs", "SELECT task_id FROM runs WHERE ended_at IS NULL GROUP BY task_id HAVING count(*) > 1"},
	{"a step linked to a task of another parent", "SELECT s.task_id FROM steps s " +
		"JOIN tasks t ON t.id = s.subtask_id WHERE t.parent_id IS DISTINCT FROM s.task_id"},
	{"a wrong count of blockers", "SELECT id FROM tasks WHERE blocked <> CASE WHEN archived_at IS NULL THEN (" + waits + ") ELSE 0 END"},
	{"a wrong count of canceled blockers", "SELECT id FROM tasks WHERE blockers_canceled <> CASE WHEN archived_at IS NULL THEN (" +
		waitsGone + ") ELSE 0 END"},
	{"a label listed for a task without it", "SELECT l.task_id FROM open_labels l JOIN tasks t ON t.id = l.task_id " +
		"WHERE t.archived_at IS NOT NULL OR (l.priority, l.created_at) <> (t.priority, t.created_at) " +
		"OR instr(' ' || t.labels || ' ', ' ' || l.label || ' ') = 0"},
	{"an open task that its label does not list", "SELECT t.id FROM tasks t, json_each('[\"' || replace(t.labels, ' ', '\",\"') || '\"]') j " +
		"WHERE t.archived_at IS NULL AND t.labels <> '' AND NOT EXISTS (SELECT 1 FROM open_labels l " +
		"WHERE l.label = j.value AND l.priority = t.priority AND l.created_at = t.created_at AND l.task_id = t.id)"},
	{"a wrong count of the tasks of an owner", "SELECT coalesce(min(id), 0) " +
		"FROM (SELECT owner, status, count(*) AS n, min(id) AS id FROM tasks GROUP BY owner, status) t " +
		"FULL JOIN task_counts c USING (owner, status) " +
		"WHERE coalesce(t.n, 0) <> coalesce(c.n, 0) HAVING count(*) > 0"},
	{"a gap in a plan", "SELECT task_id FROM steps GROUP BY task_id HAVING max(position) + 1 <> count(*)"},
}

// CheckSearch returns an error when the search lacks a task that it should
// have by now. That its index fits its texts is part of SQLite's own checks.
func (rx *Rx) CheckSearch() error {
	p, err := rx.indexPlace()
	if err != nil {
		return err
	}
	var id task.ID
	err = rx.row(`SELECT id FROM tasks t WHERE archived_at IS NOT NULL AND (SELECT max(id) FROM events WHERE task_id = t.id) <= ?
 AND NOT EXISTS (SELECT 1 FROM search_docsize WHERE docid = t.id) AND NOT EXISTS (SELECT 1
 FROM search_parts_docsize WHERE docid = t.id << 32) LIMIT 1`, p.event).Scan(&id)
	found, err := optional(err)
	if err == nil && !found {
		found, err = rx.lacksOpenText(&id)
	}
	if err != nil || !found {
		return err
	}
	return fmt.Errorf("the search lacks tasks that it should have, task %d for one; the tasks themselves are complete", id)
}

// lacksOpenText reports whether open_texts or open_times lack an open task that
// they should have by now, and which.
func (rx *Rx) lacksOpenText(id *task.ID) (bool, error) {
	from, _, err := rx.openTail()
	if err != nil {
		return false, err
	}
	return optional(rx.row(`SELECT id FROM tasks t WHERE archived_at IS NULL AND (SELECT max(id) FROM events WHERE task_id = t.id) <= ?
 AND NOT (EXISTS (SELECT 1 FROM open_texts WHERE task_id = t.id AND title = t.title COLLATE BINARY AND description = t.description)
 AND EXISTS (SELECT 1 FROM open_times WHERE task_id = t.id AND created_at = t.created_at AND updated_at = t.updated_at)) LIMIT 1`,
		from).Scan(id))
}

// CheckInvariants returns an error that names the first rule that the data
// breaks, and a task that breaks it.
func (rx *Rx) CheckInvariants() error {
	for _, v := range invariants {
		var id task.ID
		ok, err := optional(rx.row(v.sql + " LIMIT 1").Scan(&id))
		if err != nil {
			return err
		}
		if ok {
			return fmt.Errorf("invariant broken: %s (task %d)", v.what, id)
		}
	}
	return nil
}
