package jobs

import (
	"context"

	"taskyard/runner"
	"taskyard/task"
)

// folders deletes run folders that no run will use again.
func (j *Jobs) folders(ctx context.Context) error {
	n, err := runner.Retire(ctx, j.opt.RunsDir, func(list []task.RunFolder) ([]task.RunFolder, error) {
		return j.opt.Service.OrphanedFolders(ctx, list)
	})
	if n > 0 {
		j.log.Info("folders of runs removed", "folders", n)
	}
	return err
}
