package db

import "taskyard/task"

// SetWork writes what a run left in its workspace, in the place of what was
// written before.
func (tx *Tx) SetWork(run task.ID, w *task.Work) error {
	if err := tx.do("DELETE FROM run_files WHERE run_id = ?", run); err != nil {
		return err
	}
	err := tx.do(`INSERT INTO run_work (run_id, total, note, repository, branch, folder, merge) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (run_id) DO UPDATE SET total = excluded.total, note = excluded.note,
 repository = excluded.repository, branch = excluded.branch, folder = excluded.folder, merge = excluded.merge`,
		run, w.Total, w.Note, w.Repository, w.Branch, w.Folder, w.Merge)
	for i := 0; i < len(w.Files) && err == nil; i++ {
		f := &w.Files[i]
		err = tx.do("INSERT INTO run_files (run_id, n, path, change, added, removed, note, diff) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			run, i+1, f.Path, f.Change, f.Added, f.Removed, f.Note, f.Diff)
	}
	return err
}

// Work returns the files that a run left in its workspace, nil if they were not
// compared. The lines of the files are left out unless requested.
func (rx *Rx) Work(run task.ID, lines bool) (*task.Work, error) {
	w := &task.Work{}
	err := rx.row("SELECT total, note, repository, branch, folder, merge FROM run_work WHERE run_id = ?",
		run).Scan(&w.Total, &w.Note, &w.Repository, &w.Branch, &w.Folder, &w.Merge)
	if ok, err := optional(err); !ok {
		return nil, err
	}
	diff := "''"
	if lines {
		diff = "diff"
	}
	rows := rx.query("SELECT path, change, added, removed, note, "+diff+" FROM run_files WHERE run_id = ? ORDER BY n", run)
	w.Files, err = collect(rows, func(r rowScanner) (f task.FileChange, err error) {
		return f, r.Scan(&f.Path, &f.Change, &f.Added, &f.Removed, &f.Note, &f.Diff)
	})
	return w, err
}

// DropLines deletes the lines of up to limit files of runs that ended before a
// moment, and returns of how many.
func (tx *Tx) DropLines(endedBefore task.Time, limit int) (int64, error) {
	return tx.changed(`UPDATE run_files SET diff = '', note = 'its lines are not kept any more' WHERE (run_id, n) IN (SELECT f.run_id, f.n
 FROM runs r JOIN run_files f INDEXED BY run_files_lines ON f.run_id = r.id
 WHERE f.diff <> '' AND r.ended_at IS NOT NULL AND r.ended_at < ? LIMIT ?)`, endedBefore, limit)
}

// TaskBranch returns the branch on which the runs of a task of a project work,
// and the first run that worked in its worktree; "" and 0 when none has.
func (rx *Rx) TaskBranch(id task.ID, workspace string) (branch string, origin task.ID, err error) {
	err = rx.row(`SELECT id, coalesce(json_extract(spec, '$.branch'), '') FROM runs WHERE task_id = ? AND started_at IS NOT NULL
 AND json_extract(spec, '$.workspace') = ? AND json_extract(spec, '$.branch') <> '' ORDER BY id LIMIT 1`,
		id, workspace).Scan(&origin, &branch)
	_, err = optional(err)
	return branch, origin, err
}

// FirstInWorktree returns the first run of the same task that worked in a
// worktree of the same repository as r, where r continues; r itself if there is
// none, or if r has no worktree.
func (rx *Rx) FirstInWorktree(r *task.Run) (task.ID, error) {
	if r.Spec == nil {
		return r.ID, nil
	}
	if _, ok := task.ParseWorktree(r.Spec.Workspace); !ok {
		return r.ID, nil
	}
	var id task.ID
	err := rx.row(`SELECT id FROM runs WHERE task_id = ? AND id < ? AND started_at IS NOT NULL
 AND json_extract(spec, '$.workspace') = ? ORDER BY id LIMIT 1`, r.TaskID, r.ID, r.Spec.Workspace).Scan(&id)
	if ok, err := optional(err); !ok {
		return r.ID, err
	}
	return id, nil
}
