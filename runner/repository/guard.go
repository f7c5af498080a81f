package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskyard/runner/workspace"
)

// guardName is a file in the references folder that names the reference being
// moved. If the server is killed together with its Git, it identifies the stale
// locks.
const guardName = "taskyard-moves"

// lockTime is how long a Git that outlived its server may hold a lock.
const lockTime = time.Second

// withGuard runs Git to change a reference. The repository must be locked.
func (r *repo) withGuard(_ context.Context, ref string, change func() error) error {
	r.recover()
	if err := workspace.WriteIn(r.Common, guardName, []byte(ref+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(r.Common, guardName)) }()
	return change()
}

// recover removes the locks of a Git that was killed with its server. Locks
// older than its guard belong to other processes.
func (r *repo) recover() {
	guard := filepath.Join(r.Common, guardName)
	b, err := workspace.ReadIn(r.Common, guardName)
	if err != nil {
		return
	}
	info, err := os.Lstat(guard)
	if err != nil {
		return
	}
	ref := strings.TrimSpace(string(b))
	if !filepath.IsLocal(ref) || !strings.HasPrefix(ref, "refs/") {
		ref = "HEAD"
	}
	for _, name := range []string{ref, "HEAD", "packed-refs"} {
		lock := filepath.Join(r.Common, name+".lock")
		for until := time.Now().Add(lockTime); time.Now().Before(until); time.Sleep(lockTime / 20) {
			if _, err := os.Lstat(lock); err != nil {
				break
			}
		}
		if lockInfo, err := os.Lstat(lock); err == nil && lockInfo.Mode().IsRegular() && !lockInfo.ModTime().Before(info.ModTime()) {
			_ = os.Remove(lock)
		}
	}
	_ = os.Remove(guard)
}
