package worker

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"taskyard/runner"
	"taskyard/task"
)

// foldersInUse names the folders that a worker's runs use now.
type foldersInUse struct {
	mu    sync.Mutex
	count map[string]int
}

// take notes that a run begins, and returns what notes its end.
func (u *foldersInUse) take(l *task.Leased) func() {
	names := []string{task.StartFolder(l.RunID, l.Lease).Name, task.TreeFolder(l.Origin).Name}
	u.add(names, 1)
	return func() { u.add(names, -1) }
}

func (u *foldersInUse) add(names []string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == nil {
		u.count = map[string]int{}
	}
	for _, name := range names {
		if u.count[name] += n; u.count[name] == 0 {
			delete(u.count, name)
		}
	}
}

func (u *foldersInUse) has(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count[name] > 0
}

// tidy removes, now and every hour, the folders of runs that ended long ago.
func (w *Worker) tidy(ctx context.Context) {
	for lasts := true; lasts; lasts = task.Sleep(ctx, time.Hour) {
		n, err := runner.Retire(ctx, w.dir, func(list []task.RunFolder) ([]task.RunFolder, error) { return w.expired(list), nil })
		if n > 0 {
			w.log.Info("folders of runs removed", "folders", n)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("failed to remove folders of runs", "error", err)
		}
	}
}

// expired returns those of the folders that no run uses, and in which none
// began or ended for as long as they are kept.
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
