package db

import (
	"strings"

	"taskyard/task"
)

// ImportTask writes a task under its own id, with steps, resources, the counts
// of its blockers and the times that it has. A task of history is written open; ImportArchive ends it
// when its parts are there. Subtasks that steps lead to must be there already
// or be linked by LinkStep later.
func (tx *Tx) ImportTask(tk *task.Task) error {
	status := tk.Status
	if status.Archived() {
		status = task.Active
	}
	err := tx.do(`INSERT INTO tasks (id, title, description, owner, created_by, status, priority, version, channel, parent_id,
 nesting, labels, blocked, blockers_canceled, created_at, updated_at, title_by, description_by, project, demands)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tk.ID, tk.Title, tk.Description, tk.Owner, tk.CreatedBy, status, tk.Priority, tk.Version, tk.Channel,
		nullZero(tk.ParentTaskID), tk.Nesting,
		strings.Join(tk.Labels, " "), tk.Blocked, tk.BlockersCanceled, tk.CreatedAt, tk.UpdatedAt, tk.TitleBy, tk.TextBy,
		tk.Project, demandsJSON(tk.Demands))
	if err != nil {
		return err
	}
	if err := tx.raiseID("tasks", tk.ID); err != nil {
		return err
	}
	tx.countTask(tk.Owner, status, 1)
	tx.countAt(tk.CreatedAt, tk.Owner, "created", tk.Project)
	return tx.insertLists(tk.ID, tk)
}

// ImportComment writes a message with the time that it has, under its own id
// or, with 0, under a new one.
func (tx *Tx) ImportComment(id task.ID, c task.Comment) (task.ID, error) {
	typ := ""
	if c.Imported {
		typ = "imported"
	}
	saved, err := tx.insert(importComment.forStore(&tx.Rx), nullZero(c.ID), id, c.Kind, typ, c.Author, c.Content, c.CreatedAt)
	if err != nil {
		return 0, err
	}
	return saved, tx.raiseID("messages", saved)
}

var importComment = storeSQL{
	"INSERT INTO messages (id, task_id, kind, type, author, content, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
	"INSERT INTO messages (id, task_id, kind, type, author, content, created_at) " +
		"VALUES (coalesce(CAST(? AS BIGINT), next_id('messages')), ?, ?, ?, ?, ?, ?)",
}

// ImportBlocker records that a task waits for another one, without counting.
func (tx *Tx) ImportBlocker(id, blocker task.ID) error {
	return tx.do("INSERT INTO blockers (task_id, blocker_id) VALUES (?, ?)", id, blocker)
}

// ImportQuestion opens a question again, without moving the version.
func (tx *Tx) ImportQuestion(id, message task.ID) error {
	return tx.do("UPDATE tasks SET question_id = ? WHERE id = ?", message, id)
}

// ImportArchive makes an imported task history at the time that it has.
func (tx *Tx) ImportArchive(tk *task.Task) error {
	var summary any
	if tk.Summary != "" {
		summary = tk.Summary
	}
	if _, _, err := tx.recount(tk.ID, "", tk.Status); err != nil {
		return err
	}
	tx.countAt(tk.ArchivedAt, tk.Owner, string(tk.Status), tk.Project)
	return tx.do("UPDATE tasks SET status = ?, summary = ?, archived_at = ?, blocked = 0, blockers_canceled = 0, grant_hash = NULL "+
		"WHERE id = ?",
		tk.Status, summary, tk.ArchivedAt, tk.ID)
}

// SQLite remembers the last id of a table once it has had a row.
var (
	firstTaskID = storeSQL{
		"INSERT INTO sqlite_sequence (name, seq) SELECT 'tasks', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'tasks')", "",
	}
	lastTaskID = storeSQL{"UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'tasks'", ""}
)

// RaiseTaskID lets the next new task have an id above last.
func (tx *Tx) RaiseTaskID(last task.ID) error {
	if tx.c.postgres() {
		return tx.raiseID("tasks", last)
	}
	if err := tx.do(firstTaskID.sqlite); err != nil {
		return err
	}
	return tx.do(lastTaskID.sqlite, last)
}

// ImportTodos puts items behind the end of an agent's todo list.
func (tx *Tx) ImportTodos(agent string, items []string) error {
	ends, err := tx.TodoEnds(agent)
	if err != nil {
		return err
	}
	for i, item := range items {
		if err := tx.PutTodo(agent, ends.Last+int64(i)+1, item); err != nil {
			return err
		}
	}
	return nil
}
