package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// guardName is a file in the folder of references that names the one which is
// being moved: after a kill of the server together with its Git, the locks of
// that one are known by it.
const guardName = "taskyard-moves"

// lockTime is how long a Git that outlived its server may need with a lock.
const lockTime = time.Second

// guarded calls Git to change a reference. The repository is locked.
func (r *repo) guarded(_ context.Context, ref string, change func() error) error {
	r.recover()
	guard := filepath.Join(r.Common, guardName)
	if err := os.WriteFile(guard, []byte(ref+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(guard) }()
	return change()
}

// recover removes the locks of a Git that was killed with its server. Those that
// are older than its guard are of others.
func (r *repo) recover() {
	guard := filepath.Join(r.Common, guardName)
	b, err := os.ReadFile(guard)
	if err != nil {
		return
	}
	info, err := os.Stat(guard)
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
		if held, err := os.Lstat(lock); err == nil && held.Mode().IsRegular() && !held.ModTime().Before(info.ModTime()) {
			_ = os.Remove(lock)
		}
	}
	_ = os.Remove(guard)
}
