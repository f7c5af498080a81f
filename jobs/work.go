package jobs

import (
	"context"
	"path/filepath"

	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// runDir returns the private folder of a start of a run.
func (j *Jobs) runDir(r *task.Run) string {
	return filepath.Join(j.opt.RunsDir, r.FolderName())
}

// recordWork writes what a run left whose end somebody else wrote, such as a
// person who canceled it. A run that was started again meanwhile reports itself.
func (j *Jobs) recordWork(ctx context.Context, r *task.Run, w *task.Work) error {
	if w == nil {
		return nil
	}
	err := j.opt.Service.RecordWork(ctx, r.ID, r.Lease, w)
	if task.IsCode(err, task.CodeStaleLease) {
		return nil
	}
	return err
}

// salvageEnded keeps what runs of a former process of this server left that another
// server has ended meanwhile.
func (j *Jobs) salvageEnded(ctx context.Context) {
	for _, id := range workspace.Interrupted(j.opt.RunsDir) {
		r, err := j.opt.Service.Run(ctx, task.SystemActor, id)
		if err != nil || !r.Status.Final() {
			continue // of a database that was restored, or it continues
		}
		if _, err := j.killOrphan(ctx, r); err != nil {
			j.log.Error("failed to kill an orphaned process", "run_id", r.ID, "error", err)
			continue
		}
		w := j.salvage(ctx, r)
		if w != nil && w.Branch != "" {
			j.log.Warn("work of a run that another server has ended is kept", "run_id", r.ID, "task_id", r.TaskID, "branch", w.Branch)
		}
		if !j.opt.Service.Executed(r) {
			continue // its last start was on another server, which has reported
		}
		if err := j.recordWork(ctx, r, w); err != nil {
			j.log.Error("failed to store the work of a lost run", "run_id", r.ID, "error", err)
		}
	}
}

// salvage keeps what a run of a former server left in its worktree, and reports
// what that is. Those of workers lie elsewhere.
func (j *Jobs) salvage(ctx context.Context, r *task.Run) *task.Work {
	if r.Worker != 0 || r.Spec == nil {
		return nil
	}
	folders, err := j.opt.Service.RunFolders(ctx, r)
	if err != nil {
		j.log.Error("failed to find the folders of the run", "run_id", r.ID, "error", err)
		return nil
	}
	return runner.Salvage(ctx, supervise.Spec{
		RunID: r.ID, RunFolders: folders, Lease: r.Lease, Title: r.TaskTitle,
		Plan: *r.Spec, Dir: j.runDir(r), Secrets: j.opt.Secrets(),
	})
}
