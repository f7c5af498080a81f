// Package scratch creates folders in the system's temporary directory. If the
// process crashes, they are deleted at the next start.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"taskyard/runner/remove"
)

// ErrTemporary says that the system's temporary directory cannot be used.
var ErrTemporary = errors.New("the temporary directory cannot be used")

// prefix begins the names of all scratch folders.
const prefix = "taskyard-"

// lockName is a file in each folder that is locked while its process runs. It
// is moved into place with the lock held, so that a new folder is never
// considered abandoned.
const lockName = "lock"

// Folder is a folder of this process.
type Folder struct {
	Path string
	lock *os.File
}

// New creates a folder that only this account can read. what becomes a part of
// its name. Error: ErrTemporary.
func New(what string) (*Folder, error) {
	dir, err := os.MkdirTemp("", prefix+what+"-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	next := filepath.Join(dir, lockName+".new")
	lock, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB), os.Rename(next, filepath.Join(dir, lockName)))
	}
	f := &Folder{dir, lock}
	if err != nil {
		return nil, errors.Join(err, f.Remove(context.Background()))
	}
	return f, nil
}

// Whole reports whether the folder is still the one that was created: programs
// that clean the temporary directory delete what looks old.
func (f *Folder) Whole() bool {
	there, err := os.Lstat(filepath.Join(f.Path, lockName))
	if err != nil {
		return false
	}
	ours, err := f.lock.Stat()
	return err == nil && os.SameFile(there, ours)
}

// Remove deletes the folder and everything in it.
func (f *Folder) Remove(ctx context.Context) error {
	err := remove.Folder(ctx, f.Path)
	if f.lock != nil {
		_ = f.lock.Close()
	}
	return err
}

// Prepare calls Clear when a program starts. It logs what was deleted, and an
// error if no folder can be created.
func Prepare(log *slog.Logger) {
	f, err := New("start")
	if err == nil {
		err = f.Remove(context.Background())
	}
	if err != nil {
		log.Error("set TMPDIR to a folder that this account may write: "+
			"projects with a repository and the tools of the built-in agent need one", "error", err)
	}
	n, err := Clear(context.Background())
	if n > 0 {
		log.Info("temporary folders of a killed process removed", "folders", n)
	}
	if err != nil {
		log.Warn("failed to remove temporary folders", "error", err)
	}
}

// Clear deletes the folders that killed processes of this account left behind,
// and returns how many. Those of running processes stay, even if they run in
// another container.
func Clear(ctx context.Context) (removed int, err error) {
	list, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*", lockName))
	if err != nil {
		return 0, err
	}
	for _, lock := range list {
		done, e := removeFolder(ctx, filepath.Dir(lock))
		err = errors.Join(err, e)
		if done {
			removed++
		}
	}
	return removed, err
}

func removeFolder(ctx context.Context, dir string) (bool, error) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false, nil // deleted in the meantime, or another user's link
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm() != 0o700 {
		return false, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, nil
	}
	defer func() { _ = root.Close() }()
	lock, err := root.OpenFile(lockName, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, nil
	}
	defer func() { _ = lock.Close() }()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil // in use
	}
	return true, remove.Folder(ctx, dir)
}
