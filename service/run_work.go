package service

import (
	"context"
	"strconv"

	"taskyard/db"
	"taskyard/task"
)

// RecordWork writes the files that a run left in its workspace, if something
// else ended the run. Errors: unknown run, stale lease, more than is kept.
func (s *Service) RecordWork(ctx context.Context, id task.ID, lease int64, w *task.Work) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.Run(id)
		if err != nil {
			return err
		}
		if r.Lease != lease {
			return staleLeaseError(r)
		}
		tx.signals.Topics = append(tx.signals.Topics, "run:"+id.String())
		return tx.keepWork(r, w)
	})
}

// keepWork writes what a run left in its workspace; nil: nobody looked.
func (tx *txn) keepWork(r *task.Run, w *task.Work) error {
	if w == nil {
		return nil
	}
	if err := checkLeft(w); err != nil {
		return err
	}
	if err := tx.SetWork(r.ID, w); err != nil {
		return err
	}
	if w.Total == 0 && w.Branch == "" && w.Folder == "" {
		return nil
	}
	c := changes{"files": w.Total}
	if w.Branch != "" {
		c["branch"] = w.Branch
	}
	return tx.runEvent(task.EvRunFiles, r, c)
}

// checkLeft refuses what does not fit: workers are not of this process.
func checkLeft(w *task.Work) error {
	var p task.Problems
	p.CheckText("work.note", w.Note, task.MaxWorkNote)
	p.CheckText("work.merge", w.Merge, task.MaxWorkNote)
	p.CheckText("work.repository", w.Repository, task.MaxResource)
	p.CheckText("work.branch", w.Branch, task.MaxFileNote)
	p.CheckText("work.folder", w.Folder, task.MaxResource)
	if len(w.Files) > task.MaxFiles {
		p.Add("work.files", "must be at most %d", task.MaxFiles)
	}
	if w.Total < len(w.Files) {
		p.Add("work.total", "must be at least the number of files")
	}
	lines := 0
	for i, f := range w.Files {
		at := "work.files[" + strconv.Itoa(i) + "]."
		if p.CheckText(at+"path", f.Path, task.MaxFilePath) && f.Path == "" {
			p.Add(at+"path", "is required")
		}
		if f.Change != task.FileAdded && f.Change != task.FileModified && f.Change != task.FileDeleted {
			p.Add(at+"change", "must be added, modified or deleted")
		}
		if f.Added < 0 || f.Removed < 0 {
			p.Add(at+"added", "must not be negative, and neither must removed")
		}
		p.CheckText(at+"note", f.Note, task.MaxFileNote)
		p.CheckText(at+"diff", f.Diff, task.MaxFileDiff)
		lines += len(f.Diff)
	}
	if lines > task.MaxDiff {
		p.Add("work.files", "their diffs must be at most %d bytes in total", task.MaxDiff)
	}
	return p.Err()
}

// Work returns the files that a run left in its workspace, as its supervisor
// saw them, with their lines if requested; nil if they were not compared.
// Error: unknown run.
func (s *Service) Work(ctx context.Context, a task.Actor, id task.ID, lines bool) (*task.Work, error) {
	return readRun(ctx, s, a, id, func(rx *db.Rx, _ *task.Run) (*task.Work, error) { return rx.Work(id, lines) })
}

// RunFolders returns the folders of other runs that a run works in.
func (s *Service) RunFolders(ctx context.Context, r *task.Run) (task.RunFolders, error) {
	return read(ctx, s, func(rx *db.Rx) (f task.RunFolders, err error) {
		if f.Origin, err = rx.FirstInWorktree(r); err != nil || r.Spec == nil || r.Spec.SharedRun == 0 {
			return f, err
		}
		shared, err := rx.Run(r.Spec.SharedRun)
		if err != nil {
			return f, err
		}
		f.Shared = shared.FolderName()
		f.SharedTree, err = rx.FirstInWorktree(shared)
		return f, err
	})
}
