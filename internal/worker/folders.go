package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner"
	"taskyard/task"
)

// foldersInUse contains the names of the folders that a worker's runs are
// using.
type foldersInUse struct{ byRun sync.Map }

// take records that a run begins; the returned function records its end.
func (u *foldersInUse) take(l *task.Leased) func() {
	u.byRun.Store(l, []string{task.StartFolder(l.RunID, l.Lease).Name, task.TreeFolder(l.Origin).Name})
	return func() { u.byRun.Delete(l) }
}

func (u *foldersInUse) has(name string) (found bool) {
	u.byRun.Range(func(_, names any) bool {
		found = slices.Contains(names.([]string), name)
		return !found
	})
	return found
}

// removeExpired deletes the folders of runs that ended long ago, now and every hour.
func (w *Worker) removeExpired(ctx context.Context) {
	for {
		n, err := runner.Retire(ctx, w.dir, func(list []task.RunFolder) ([]task.RunFolder, error) { return w.expired(list), nil })
		if n > 0 {
			w.log.Info("folders of runs removed", "folders", n)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("failed to remove folders of runs", "error", err)
		}
		if !sleep.For(ctx, time.Hour) {
			return
		}
	}
}

// expired returns the folders that no run uses, and in which none began or
// ended for as long as they are kept.
func (w *Worker) expired(list []task.RunFolder) (old []task.RunFolder) {
	before := time.Now().Add(-w.keep)
	for _, f := range list {
		info, err := os.Lstat(filepath.Join(w.dir, f.Name))
		if err == nil && info.ModTime().Before(before) && !w.used.has(f.Name) {
			old = append(old, f)
		}
	}
	return old
}
