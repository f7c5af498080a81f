package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
)

// where collects the conditions of a list of tasks t.
type where struct {
	conds     []string
	args      []any
	label     bool   // read through open_labels l
	fromIDs   bool   // read from the ids of a search, the first argument
	uncounted bool   // the words of a search fit more tasks than are counted
	index     string // of a state that few tasks are in, in queue order; "" leaves the choice to SQLite

	postgres bool
}

// from begins to read the list; prio, age and id are the columns of an index
// that has it in queue order.
func (w *where) from() (from, prio, age, id string) {
	if w.label {
		return " FROM open_labels l CROSS JOIN tasks t ON t.id = l.task_id", "l.priority", "l.created_at", "l.task_id"
	}
	if w.fromIDs {
		return " FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT)", "t.priority", "t.created_at", "t.id"
	}
	from = " FROM tasks t"
	if w.index != "" {
		from += " INDEXED BY " + w.index
	}
	return from, "t.priority", "t.created_at", "t.id"
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

func (w *where) sql() string { return " WHERE " + strings.Join(w.conds, " AND ") }

// OpenTasks returns draft and active tasks by priority, then age, or as
// f.Sort says, and the cursor of the next page, "" at the end. card reports whether counts are
// wanted instead of steps and resources.
func (rx *Rx) OpenTasks(f task.TaskFilter, card bool) ([]*task.Task, string, error) {
	w, err := rx.openWhere(f)
	if err != nil {
		return nil, "", err
	}
	cols := taskBrief
	if f.Full {
		cols = taskWithTexts
	}
	if card {
		cols = taskCard
	}
	r, cancel := rx.boundedSearch(f.Query)
	defer cancel()
	if f.Sort != "" {
		return r.sortedTasks(w, f, cols)
	}
	if err := rx.queued(w, f.Owner); err != nil {
		return nil, "", err
	}
	from, args, err := queueOrder(w, f.After, f.Limit+1)
	if err != nil {
		return nil, "", err
	}
	list, cut, err := r.tasksWithin("SELECT "+cols+from, args...)
	if err != nil || len(list) <= f.Limit && !cut {
		return list, "", err
	}
	list = list[:min(f.Limit, len(list))]
	return list, taskCursor(list[len(list)-1]), nil
}

// taskCursor returns the cursor that starts a page after a task in queue order.
func taskCursor(t *task.Task) string { return fmt.Sprintf("%d.%d.%d", t.Priority, t.CreatedAt, t.ID) }

// boundedSearch is bounded for a search, which may look into every text; without
// one it returns rx.
func (rx *Rx) boundedSearch(query string) (*Rx, context.CancelFunc) {
	if query == "" {
		return rx, func() {}
	}
	return rx.bounded()
}

// fewLabeled is how many tasks with a label each column of a board may look
// through; where there are more, it looks through the queue of its agent.
const fewLabeled = 1000

// openWhere is what a filter of open tasks fits, from the first on.
func (rx *Rx) openWhere(f task.TaskFilter) (*where, error) {
	w, now := &where{postgres: rx.c.postgres()}, rx.Now
	w.add("t.archived_at IS NULL")
	if f.Owner != "" {
		w.add("t.owner = ?", f.Owner)
	}
	switch f.Status {
	case "":
	case task.Draft:
		w.add("t.status = 'draft'")
		w.index = "tasks_draft"
	case task.Active: // no argument, or SQLite prepares the statement again each time, to compare it with partial indexes
		w.add("t.status = 'active'")
	default:
		w.add("t.status = ?", f.Status)
	}
	switch f.WorkStatus {
	case task.Working:
		w.add("t.status = 'active' AND t.claim_expires > ?", now)
		w.index = claimed
	case task.Idle:
		w.add("t.status = 'active' AND (t.claim_expires IS NULL OR t.claim_expires <= ?)", now)
	case task.Complete:
		w.add("FALSE")
	}
	if f.Parent != 0 {
		w.add("t.parent_id = ?", f.Parent)
		w.index = cmp.Or(w.index, "tasks_parent")
	}
	if f.Label != "" {
		n := 0
		if f.Owner != "" {
			var err error
			if n, err = rx.count("SELECT count(*) FROM (SELECT 1 FROM open_labels WHERE label = ? LIMIT ?)", f.Label, fewLabeled+1); err != nil {
				return nil, err
			}
		}
		if w.label = n <= fewLabeled; w.label {
			w.add("l.label = ?", f.Label)
		} else {
			w.add("instr(' ' || t.labels || ' ', ?) > 0", " "+f.Label+" ")
		}
	}
	if f.CreatedBy != "" {
		w.add("t.created_by = ?", f.CreatedBy)
	}
	if f.Project != "" {
		w.add("t.project = ? AND t.project <> ''", f.Project) // so that SQLite knows that it may use the index
		w.index = cmp.Or(w.index, "tasks_project")
	}
	w.shown(f.Shown, now)
	switch f.Blocked {
	case "yes":
		w.add("t.blocked > 0")
		w.index = cmp.Or(w.index, "tasks_blocked")
	case "no":
		w.add("t.blocked = 0")
	}
	if f.MinPriority != nil {
		w.add("t.priority >= ?", *f.MinPriority)
	}
	return w, rx.words(w, f)
}

// queueOrder is the end of a statement that reads at most limit tasks by
// priority, then age, after a cursor of OpenTasks. What follows a cursor are two
// ranges of an index: the rest of its priority, and the priorities below. As
// one condition, SQLite would read from the first task of the priority on. Without
// the name of a collation, it compares no rowid by the index, and reads from the
// first task of the same moment, which thousands of imported ones share.
func queueOrder(w *where, after string, limit int) (from string, args []any, err error) {
	tasks, prio, age, id := w.from()
	// The ids are put in order first, so that only a page of rows is read whole.
	const inOrder = " ORDER BY place DESC, age, ref"
	const whole = " CROSS JOIN tasks t ON t.id = ref" + inOrder
	keys := prio + " AS place, " + age + " AS age, " + id + " AS ref"
	switch {
	case after == "" && (w.fromIDs || w.index == claimed):
		return " FROM (SELECT " + keys + tasks + w.sql() + inOrder + " LIMIT ?)" + whole, append(w.args, limit), nil
	case after == "":
		return tasks + w.sql() + " ORDER BY " + prio + " DESC, " + age + ", " + id + " LIMIT ?", append(w.args, limit), nil
	}
	lastPrio, rest, _ := strings.Cut(after, ".")
	place, err := strconv.ParseInt(lastPrio, 10, 64)
	lastAge, lastID, malformed := parseCursor(rest)
	if err != nil || malformed != nil {
		return "", nil, task.FieldErrorf("after", "is not a cursor of this list; use the value of next")
	}
	same := "SELECT " + keys + tasks + w.sql() + " AND " + prio + " = ? AND (" + age + ", " + id + ") > (?, ? COLLATE BINARY)"
	lower := "SELECT " + keys + tasks + w.sql() + " AND " + prio + " < ?"
	args = slices.Concat(w.args, []any{place, lastAge, lastID}, w.args, []any{place, limit})
	if w.postgres { // it would sort all of both
		same, lower = "SELECT * FROM ("+same+inOrder+" LIMIT ?)", "SELECT * FROM ("+lower+inOrder+" LIMIT ?)"
		args = slices.Concat(w.args, []any{place, lastAge, lastID, limit}, w.args, []any{place, limit, limit})
	}
	return " FROM (" + same + " UNION ALL " + lower + inOrder + " LIMIT ?)" + whole, args, nil
}

// parseCursor reads a cursor "a.b".
func parseCursor(s string) (a, b int64, err error) {
	x, y, ok := strings.Cut(s, ".")
	if !ok {
		return 0, 0, fmt.Errorf("no dot in %q", s)
	}
	if a, err = strconv.ParseInt(x, 10, 64); err != nil {
		return 0, 0, err
	}
	b, err = strconv.ParseInt(y, 10, 64)
	return a, b, err
}

// Queue returns an agent's active tasks in order, after the cursor.
func (rx *Rx) Queue(agent string, full bool, limit int, after string) ([]*task.Task, string, error) {
	return rx.OpenTasks(task.TaskFilter{Owner: agent, Status: task.Active, Full: full, Limit: limit, After: after}, false)
}

// History returns archived tasks, newest first (with a search: last created
// first), and the cursor of the next page.
func (rx *Rx) History(f task.HistoryFilter) ([]*task.Task, string, error) {
	if f.Query != "" {
		return rx.searchHistory(f)
	}
	w, from, order := historyFrom(f)
	if f.Before != "" {
		at, id, err := parseCursor(f.Before)
		if err != nil {
			return nil, "", task.FieldErrorf("before", "is not a cursor of this list; use the value of next")
		}
		if f.Label != "" {
			w.add("(l.archived_at, l.task_id) < (?, ?)", at, id)
		} else {
			w.add("(t.archived_at, t.id) < (?, ?)", at, id)
		}
	}
	list, cut, err := rx.tasksWithin("SELECT "+taskBrief+from+w.sql()+order, append(w.args, f.Limit+1)...)
	if err != nil || len(list) <= f.Limit && !cut {
		return list, "", err
	}
	list = list[:min(f.Limit, len(list))]
	last := list[len(list)-1]
	return list, fmt.Sprintf("%d.%d", last.ArchivedAt, last.ID), nil
}

// historyFrom begins and ends a list of history without a search: labels have a
// table of their own. The limit is its last argument.
func historyFrom(f task.HistoryFilter) (w *where, from, order string) {
	w, from, order = &where{}, " FROM tasks t", " ORDER BY t.archived_at DESC, t.id DESC LIMIT ?"
	if f.Label != "" {
		order = " ORDER BY l.archived_at DESC, l.task_id DESC LIMIT ?"
		from = " FROM history_labels l CROSS JOIN tasks t ON t.id = l.task_id"
		w.add("l.label = ?", f.Label)
		if f.From != 0 {
			w.add("l.archived_at >= ?", f.From)
		}
		if f.To != 0 {
			w.add("l.archived_at < ?", f.To)
		}
	}
	w.add("t.archived_at IS NOT NULL")
	historyWhere(w, f)
	return w, from, order
}

func historyWhere(w *where, f task.HistoryFilter) {
	if f.Owner != "" {
		w.add("t.owner = ?", f.Owner)
	}
	if f.CreatedBy != "" {
		w.add("t.created_by = ?", f.CreatedBy)
	}
	if f.Status != "" {
		w.add("t.status = ?", f.Status)
	}
	if f.Project != "" {
		w.add("t.project = ? AND t.project <> ''", f.Project)
	}
	if f.From != 0 {
		w.add("t.archived_at >= ?", f.From)
	}
	if f.To != 0 {
		w.add("t.archived_at < ?", f.To)
	}
}
