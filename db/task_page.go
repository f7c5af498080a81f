package db

import (
	"cmp"
	"slices"

	"taskyard/task"
)

// noBound is over every id and every time.
const noBound = 1<<62 - 1

// LastMessages returns the newest entries of a thread after one id and before
// another (0: no bound), oldest first.
func (rx *Rx) LastMessages(id, after, before task.ID, limit int) ([]task.Message, error) {
	list, err := rx.messagesWithin("SELECT "+messageCols+" FROM messages WHERE task_id = ? AND run_id IS NULL "+
		"AND id > ? AND id < ? ORDER BY id DESC LIMIT ?", id, after, cmp.Or(before, noBound), limit)
	slices.Reverse(list)
	return list, err
}

// LastEventsBut returns the newest lines of a task between two ids (0: no
// bound), oldest first, without the kinds in skip.
func (rx *Rx) LastEventsBut(id, after, before task.ID, skip []string, limit int) ([]task.Event, error) {
	found, err := rx.eventsWithin("SELECT "+eventCols+" FROM events WHERE task_id = ? AND id > ? AND id < ? "+
		"AND kind NOT IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?", id, after, cmp.Or(before, noBound), asJSON(skip), limit)
	slices.Reverse(found)
	return found, err
}

// TaskRuns returns the newest runs of a task between two ids (0: no bound),
// newest first.
func (rx *Rx) TaskRuns(id, after, before task.ID, limit int) ([]*task.Run, error) {
	return rx.runsWithin("SELECT "+runCols+" FROM runs r WHERE r.task_id = ? AND r.id > ? "+
		"AND r.id < ? ORDER BY r.id DESC LIMIT ?", id, after, cmp.Or(before, noBound), limit)
}

// StreamCounts counts messages, runs, and events without the kinds in skip of
// a task; each count ends at limit.
func (rx *Rx) StreamCounts(id task.ID, skip []string, limit int) (messages, events, runs int, err error) {
	err = rx.row(`SELECT (SELECT count(*) FROM (SELECT 1 FROM messages WHERE task_id = ?1 AND run_id IS NULL LIMIT ?3)),
 (SELECT count(*) FROM (SELECT 1 FROM events WHERE task_id = ?1 AND kind NOT IN (SELECT value FROM json_each(?2)) LIMIT ?3)),
 (SELECT count(*) FROM (SELECT 1 FROM runs WHERE task_id = ?1 LIMIT ?3))`, id, asJSON(skip), limit).Scan(&messages, &events, &runs)
	return messages, events, runs, err
}

// Linked returns the subtasks that steps of a task are linked to, in the
// order of the steps.
func (rx *Rx) Linked(id task.ID) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskCard+" FROM steps s JOIN tasks t ON t.id = s.subtask_id WHERE s.task_id = ? ORDER BY s.position", id)
}

// Subtasks returns subtasks of a task after an id: open ones, or archived ones.
func (rx *Rx) Subtasks(id, after task.ID, open bool, limit int) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskCard+" FROM tasks t WHERE t.parent_id = ? AND t.id > ? "+
		"AND (t.archived_at IS NULL) = ? ORDER BY t.id LIMIT ?", id, after, open, limit)
}

// ChildCounts counts the subtasks of a task: open, done, canceled.
func (rx *Rx) ChildCounts(id task.ID) (open, done, canceled int, err error) {
	err = rx.row(`SELECT count(*) FILTER (WHERE archived_at IS NULL), count(*) FILTER (WHERE status = 'done'),
 count(*) FILTER (WHERE status = 'canceled') FROM tasks WHERE parent_id = ?`, id).Scan(&open, &done, &canceled)
	return open, done, canceled, err
}

const sumUsage = `SELECT coalesce(sum(` + usedCalls + `), 0),
 coalesce(sum(` + usedIn + `), 0), coalesce(sum(` + usedOut + `), 0),
 coalesce(sum(` + usedCost + `), 0.0), coalesce(max(` + usedEstimated + `), 0) `

// UsageBelow sums what the runs of a task used, and with those of everything
// below it. At most limit tasks are looked at.
func (rx *Rx) UsageBelow(id task.ID, limit int) (own, all task.Usage, err error) {
	scan := func(u *task.Usage, q string, args ...any) error {
		return rx.row(sumUsage+q, args...).Scan(&u.ToolCalls, &u.TokensIn, &u.TokensOut, &u.CostUSD, &u.Estimated)
	}
	if err = scan(&own, "FROM runs r WHERE r.task_id = ?", id); err != nil {
		return own, all, err
	}
	return own, all, scan(&all, runsBelow.forStore(rx), id, limit)
}

// PostgreSQL ends a recursion by the query around it.
var runsBelow = storeSQL{
	`FROM (WITH RECURSIVE down (id, n) AS (
 SELECT ?1, 0 UNION ALL SELECT c.id, down.n + 1 FROM down CROSS JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20 LIMIT ?2)
 SELECT id FROM down) d JOIN runs r ON r.task_id = d.id`,
	`FROM (WITH RECURSIVE down (id, n) AS (
 SELECT CAST(?1 AS BIGINT), 0 UNION ALL SELECT c.id, down.n + 1 FROM down JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20)
 SELECT id FROM down LIMIT ?2) d JOIN runs r ON r.task_id = d.id`,
}

// Neighbors returns the active tasks before and after one in its owner's queue
// (0: none), and its place there, counted from 1; 0 when limit are before it.
// For the collation see queueOrder.
func (rx *Rx) Neighbors(t *task.Task, limit int) (prev, next task.ID, place int, err error) {
	const queue = "(SELECT id FROM tasks WHERE owner = ?1 AND status = 'active' AND archived_at IS NULL AND priority "
	const at = "SELECT coalesce(" + queue + "= ?2 AND (created_at, id) "
	if err = rx.row(at+"< (?3, ?4 COLLATE BINARY) ORDER BY created_at DESC, id DESC LIMIT 1), "+
		queue+"> ?2 ORDER BY priority, created_at DESC, id DESC LIMIT 1), 0)",
		t.Owner, t.Priority, t.CreatedAt, t.ID).Scan(&prev); err != nil {
		return 0, 0, 0, err
	}
	if err = rx.row(at+"> (?3, ?4 COLLATE BINARY) ORDER BY created_at, id LIMIT 1), "+
		queue+"< ?2 ORDER BY priority DESC, created_at, id LIMIT 1), 0)",
		t.Owner, t.Priority, t.CreatedAt, t.ID).Scan(&next); err != nil {
		return 0, 0, 0, err
	}
	n, err := rx.count(`SELECT count(*) FROM (SELECT 1 FROM tasks WHERE owner = ?1
 AND status = 'active' AND archived_at IS NULL AND priority > ?2
 UNION ALL SELECT 1 FROM tasks WHERE owner = ?1 AND status = 'active' AND archived_at IS NULL
 AND priority = ?2 AND (created_at, id) < (?3, ?4 COLLATE BINARY) LIMIT ?5)`, t.Owner, t.Priority, t.CreatedAt, t.ID, limit)
	if n < limit {
		place = n + 1
	}
	return prev, next, place, err
}
