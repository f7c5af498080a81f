package db

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
)

// What it means to wait for a person; with a live claim or without.
const waitsForPeople = `(t.question_id IS NOT NULL OR t.blockers_canceled > 0 OR t.awaits = 'review' OR EXISTS (SELECT 1
 FROM runs r WHERE r.id = t.run_id AND r.phase IN ('approval', 'permission')))`

// What all tasks that wait for a person have, as the index tasks_held_up says it.
const waitsForPerson = "(t.question_id IS NOT NULL OR t.blockers_canceled > 0 OR t.run_id IS NOT NULL OR t.awaits <> '')"

// claimed is the index of claims, which is in no order of queues.
const claimed = "tasks_lease"

// fewClaimed is how many claims are put in order; where there are more, a walk
// in queue order meets a page of them sooner.
const fewClaimed = 4000

// queued lets a list that is read in queue order leave the index of claims
// when there are many.
func (rx *Rx) queued(w *where, owner string) error {
	if w.index != claimed {
		return nil
	}
	q, args := "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_lease WHERE claim_expires > ? LIMIT ?)", []any{rx.Now}
	index := "tasks_open"
	if owner != "" {
		q = strings.Replace(q, "WHERE", "WHERE owner = ? AND", 1)
		args, index = []any{owner, rx.Now}, "tasks_owner"
	}
	n, err := rx.count(q, append(args, fewClaimed+1)...)
	if n > fewClaimed {
		w.index = index
	}
	return err
}

// shown keeps the active tasks that are drawn in one way; views.GlyphFromTask is the
// same rule over a task.
func (w *where) shown(s task.DisplayState, now task.Time) {
	const failed = "t.failures > 0 AND t.run_id IS NULL"
	if s == "" {
		return
	}
	w.add("t.status = 'active'")
	if s == task.ShownWaiting {
		w.add(waitsForPerson)
		w.add(waitsForPeople)
		w.index = "tasks_held_up"
		return
	}
	w.add("NOT " + waitsForPeople)
	if s == task.ShownWorking {
		w.add("t.claim_expires > ?", now)
		w.index = claimed
		return
	}
	w.add("coalesce(t.claim_expires, 0) <= ?", now)
	if s == task.ShownFailed {
		w.add(failed)
		w.index = "tasks_failed"
	} else {
		w.add("NOT (" + failed + ")")
	}
}

// sorts are the orders as SQL; the id orders what is equal. The + keeps SQLite
// from walking the whole table, history too, for the sake of an order.
var sorts = map[task.TaskSort]string{
	task.SortID: "+t.id", task.SortTitle: "t.title COLLATE NOCASE", task.SortOwner: "t.owner", task.SortPriority: "t.priority",
	task.SortAge: "t.created_at", task.SortChanged: "t.updated_at",
}

// sortedTasks returns a page of a list in another order than that of queues.
// Its cursor is how many rows come before. The ids are put in order first, so
// that only a page of rows is read whole.
func (rx *Rx) sortedTasks(w *where, f task.TaskFilter, cols string) ([]*task.Task, string, error) {
	skip, err := offset(f.After)
	if err != nil {
		return nil, "", err
	}
	dir := ""
	if f.Desc {
		dir = " DESC"
	}
	order := " ORDER BY " + sorts[f.Sort] + dir + ", +t.id" + dir
	from, _, _, _ := w.from()
	page, args := "SELECT t.id"+from+w.sql()+order, w.args
	if walk, tail, err := rx.walk(f, skip); err != nil {
		return nil, "", err
	} else if walk != (openWalk{}) {
		page = "SELECT id FROM (SELECT o.task_id AS id, o." + walk.key + " AS place FROM " + walk.from +
			" CROSS JOIN tasks t ON t.id = o.task_id" + w.sql() + " AND o.task_id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) " +
			"UNION ALL SELECT t.id, t." + cmp.Or(walk.of, walk.key) +
			" FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT)" + w.sql()
		// SQLite merges the two in the order of the index only where it is asked
		// inside; PostgreSQL allows an expression only outside.
		if order := " ORDER BY place" + walk.collate + dir + ", id" + dir; rx.c.postgres() {
			page += ")" + order
		} else {
			page += order + ")"
		}
		args = slices.Concat(w.args, []any{tail, tail}, w.args)
	}
	list, cut, err := rx.tasksWithin("WITH page (id) AS MATERIALIZED ("+page+
		" LIMIT ? OFFSET ?) SELECT "+cols+" FROM page CROSS JOIN tasks t ON t.id = page.id"+order,
		append(args, f.Limit+1, skip)...)
	if err != nil || len(list) <= f.Limit && !cut {
		return list, "", err
	}
	list = list[:min(f.Limit, len(list))]
	return list, strconv.Itoa(skip + len(list)), nil
}

// openWalk is a table with the open tasks in an order, and its column of that
// order; of is what tasks call it, where that is another name.
type openWalk struct{ from, key, of, collate string }

var openWalks = map[task.TaskSort]openWalk{
	task.SortTitle:   {"open_texts o INDEXED BY open_texts_title", "title", "", " COLLATE NOCASE"},
	task.SortID:      {"open_times o", "task_id", "id", ""},
	task.SortAge:     {"open_times o INDEXED BY open_times_created", "created_at", "", ""},
	task.SortChanged: {"open_times o INDEXED BY open_times_updated", "updated_at", "", ""},
}

// walk returns what a list is read in the order of, where that meets a page in
// fewer steps than it has tasks to sort; else nothing. tail are the tasks that
// the table may not know as they are.
func (rx *Rx) walk(f task.TaskFilter, skip int) (w openWalk, tail string, err error) {
	walk, ok := openWalks[f.Sort]
	if !ok || !isBasic(f) {
		return w, "", nil
	}
	n, err := rx.OpenCount(f.Owner, f.Status)
	if err != nil {
		return w, "", err
	}
	if all, err := rx.OpenCount("", ""); err != nil || n*n <= all*(skip+f.Limit) {
		return w, "", err
	}
	from, last, err := rx.openTail()
	if err != nil || last-from > maxOpenTail {
		return w, "", err
	}
	tail, err = rx.openTailIDs(from)
	return walk, tail, err
}

// isBasic reports whether a filter asks for no more than an owner and a status.
func isBasic(f task.TaskFilter) bool {
	return f == task.TaskFilter{
		Owner: f.Owner, Status: f.Status, Sort: f.Sort, Desc: f.Desc, After: f.After, Limit: f.Limit, Full: f.Full,
	}
}

func offset(after string) (int, error) {
	if after == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(after)
	if err != nil || n < 0 {
		return 0, task.FieldErrorf("after", "is not a cursor of this list; use the value of next")
	}
	return n, nil
}

// CountOpenTasks counts what a filter of open tasks fits; where it asks for more
// than an owner and a status, up to one more than task.MaxCounted. Pages and
// order do not matter.
func (rx *Rx) CountOpenTasks(f task.TaskFilter) (int, error) {
	if isBasic(f) {
		return rx.OpenCount(f.Owner, f.Status)
	}
	w, err := rx.openWhere(f)
	if err != nil {
		return 0, err
	}
	words := f
	if words.Query = ""; w.uncounted && f.Owner == "" && f.Status == "" && isBasic(words) {
		return task.MaxCounted + 1, nil
	}
	r, cancel := rx.boundedSearch(f.Query)
	defer cancel()
	from, _, _, _ := w.from()
	return r.count("SELECT count(*) FROM (SELECT 1"+from+w.sql()+" LIMIT ?)", append(w.args, task.MaxCounted+1)...)
}

// OpenTaskIDs returns at most limit ids of what a filter of open tasks fits,
// in queue order.
func (rx *Rx) OpenTaskIDs(f task.TaskFilter, limit int) ([]task.ID, error) {
	w, err := rx.openWhere(f)
	if err != nil {
		return nil, err
	}
	if err := rx.queued(w, f.Owner); err != nil {
		return nil, err
	}
	from, args, err := queueOrder(w, "", limit)
	if err != nil {
		return nil, err
	}
	r, cancel := rx.boundedSearch(f.Query)
	defer cancel()
	return collect(r.query("SELECT t.id"+from, args...), column[task.ID])
}
