package jobs

import (
	"context"
	"path/filepath"

	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// runDir returns the private folder of an attempt of a run.
func (j *Jobs) runDir(r *task.Run) string {
	return filepath.Join(j.opt.RunsDir, r.FolderName())
}

// recordWork writes the files that a run left if something else ended it, such
// as a person who canceled it. A run that has been restarted in the meantime
// reports its own.
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

// salvageEnded saves the files of runs of this server's previous process that
// another server has ended in the meantime.
func (j *Jobs) salvageEnded(ctx context.Context) {
	for _, id := range workspace.Interrupted(j.opt.RunsDir) {
		r, err := j.opt.Service.Run(ctx, task.SystemActor, id)
		if err != nil || !r.Status.Final() {
			continue // unknown after a restore, or still running
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
			continue // its last attempt was on another server, which has reported it
		}
		if err := j.recordWork(ctx, r, w); err != nil {
			j.log.Error("failed to store the work of a lost run", "run_id", r.ID, "error", err)
		}
	}
}

// salvage saves and returns what a run of a previous server left in its
// worktree. Worktrees of workers are on other machines.
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
