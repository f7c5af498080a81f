package db

import "taskyard/task"

// Exported is a task with what its JSON form does not hold.
type Exported struct {
	*task.Task      // without comments; CommentCount reports whether there are some
	Withheld   bool // an agent started it, handed it over or changed it, and no person has consented
}

// exportCols are the columns of a whole task with the count of its comments,
// and one more.
const exportCols = taskCols + ", t.description, " + stepsJSON + ", " + resourcesJSON + ", '', " + blockersList +
	`, 0, 0, (SELECT count(*) FROM messages WHERE task_id = t.id AND run_id IS NULL), '', '', '', EXISTS (SELECT 1
 FROM hands h WHERE h.task_id = t.id AND h.part <> 'created' AND h.actor NOT LIKE 'user:%')`

// extendedScanner scans further columns behind those that a scan function knows.
type extendedScanner struct {
	rowScanner
	extra []any
}

func (w extendedScanner) Scan(dest ...any) error {
	return w.rowScanner.Scan(append(dest, w.extra...)...)
}

// ExportOpen calls fn with every draft and active task by id.
func (rx *Rx) ExportOpen(fn func(Exported) error) error {
	return rx.export("SELECT "+exportCols+" FROM tasks t WHERE t.archived_at IS NULL AND t.id > 0 ORDER BY t.id", fn)
}

// ExportHistory calls fn with every archived task, the first archived first.
func (rx *Rx) ExportHistory(fn func(Exported) error) error {
	return rx.export("SELECT "+exportCols+" FROM tasks t WHERE t.archived_at IS NOT NULL "+
		"AND t.archived_at > 0 ORDER BY t.archived_at, t.id", fn)
}

// export walks row by row, so that memory does not grow with the instance. fn
// may read meanwhile, by other statements.
func (rx *Rx) export(q string, fn func(Exported) error) error {
	scan := scanTask(rx.Now)
	return each(rx.query(q), func(r rowScanner) (err error) {
		var e Exported
		if e.Task, err = scan(extendedScanner{r, []any{&e.Withheld}}); err != nil {
			return err
		}
		return fn(e)
	})
}

// ExportTodos calls fn with every item of every todo list, by agent, front
// first.
func (rx *Rx) ExportTodos(fn func(agent, item string) error) error {
	rows := rx.query("SELECT agent, item FROM todos WHERE agent > '' ORDER BY agent, position")
	return each(rows, func(r rowScanner) error {
		var agent, item string
		if err := r.Scan(&agent, &item); err != nil {
			return err
		}
		return fn(agent, item)
	})
}

// LastTaskID returns the highest id that a task ever had, or 0.
func (rx *Rx) LastTaskID() (task.ID, error) {
	var id task.ID
	err := rx.row("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'tasks'), 0)").Scan(&id)
	return id, err
}
