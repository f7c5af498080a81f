package db

import "taskyard/task"

// SetWork writes what a run left in its workspace, in the place of what was
// written before.
func (tx *Tx) SetWork(run task.ID, w *task.Work) error {
	if err := tx.do("DELETE FROM run_files WHERE run_id = ?", run); err != nil {
		return err
	}
	err := tx.do(`INSERT INTO run_work (run_id, total, note, repository, branch, folder) VALUES (?, ?, ?, ?, ?, ?)
 ON CONFLICT (run_id) DO UPDATE SET total = excluded.total, note = excluded.note,
 repository = excluded.repository, branch = excluded.branch, folder = excluded.folder`,
		run, w.Total, w.Note, w.Repository, w.Branch, w.Folder)
	for i := 0; i < len(w.Files) && err == nil; i++ {
		f := &w.Files[i]
		err = tx.do("INSERT INTO run_files (run_id, n, path, change, added, removed, note, diff) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			run, i+1, f.Path, f.Change, f.Added, f.Removed, f.Note, f.Diff)
	}
	return err
}

// Work returns what a run left in its workspace, nil when nobody looked. The
// lines of the files are left out unless asked for.
func (rx *Rx) Work(run task.ID, lines bool) (*task.Work, error) {
	w := &task.Work{}
	err := rx.row("SELECT total, note, repository, branch, folder FROM run_work WHERE run_id = ?",
		run).Scan(&w.Total, &w.Note, &w.Repository, &w.Branch, &w.Folder)
	if ok, err := optional(err); !ok {
		return nil, err
	}
	diff := "''"
	if lines {
		diff = "diff"
	}
	rows, err := rx.query("SELECT path, change, added, removed, note, "+diff+" FROM run_files WHERE run_id = ? ORDER BY n", run)
	w.Files, err = collect(rows, err, func(r rowScanner) (f task.FileChange, err error) {
		return f, r.Scan(&f.Path, &f.Change, &f.Added, &f.Removed, &f.Note, &f.Diff)
	})
	return w, err
}

// DropLines deletes the lines of up to limit files of runs that ended before a
// moment, and returns of how many.
func (tx *Tx) DropLines(endedBefore task.Time, limit int) (int64, error) {
	return tx.changed(`UPDATE run_files SET diff = '', note = 'its lines are not kept any more' WHERE rowid IN (SELECT f.rowid
 FROM runs r JOIN run_files f INDEXED BY run_files_lines ON f.run_id = r.id
 WHERE f.diff <> '' AND r.ended_at IS NOT NULL AND r.ended_at < ? LIMIT ?)`, endedBefore, limit)
}

// FirstTry returns the first of the runs that a run tries again, one after the
// other; itself when it is none.
func (rx *Rx) FirstTry(run task.ID) (id task.ID, err error) {
	err = rx.row(`WITH RECURSIVE up (id, retry_of) AS (
 SELECT id, retry_of FROM runs WHERE id = ?
 UNION ALL SELECT r.id, r.retry_of FROM up CROSS JOIN runs r ON r.id = up.retry_of)
 SELECT coalesce(min(id), 0) FROM up`, run).Scan(&id)
	return id, err
}
