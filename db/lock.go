package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Lock is the right to serve a database file: of the place where it lies, by
// the file <path>.lock, and of the file itself, which may be reached by a
// mount under another name, or whose .lock file somebody may remove.
type Lock struct {
	path  string
	place *flock.Flock
	file  *os.File // stays open: to close it would drop SQLite's locks
}

const (
	staleLockTimeout = time.Second // with the lock of a process that is dead
	lockPause        = 10 * time.Millisecond
)

// AcquireLock takes the lock of a database, which may not exist yet. Links are
// followed. When a living process serves the file the error names its process
// id, at once. A process that was killed while it started a program leaves the
// lock, for a moment, to the child that was about to become that program: that
// one is waited for, for a second at most. Errors: also those of checkPlace
// for a file with several names.
func AcquireLock(path string) (*Lock, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(path); err == nil && linkCount(fi) > 1 {
		return nil, checkPlace(path)
	}
	l := &Lock{path: path, place: flock.New(path + ".lock")}
	for waited := time.Duration(0); ; waited += lockPause {
		ok, err := l.place.TryLock()
		if err != nil {
			return nil, err
		}
		if ok {
			break
		}
		b, _ := os.ReadFile(path + ".lock")
		pid := strings.TrimSpace(string(b))
		if waited >= staleLockTimeout || isOtherProcess(pid) {
			return nil, fmt.Errorf("another taskyard (process %s) serves %s; stop it first or use another --data", pid, path)
		}
		time.Sleep(lockPause)
	}
	if err := l.Bind(); err != nil {
		return nil, errors.Join(err, l.place.Unlock())
	}
	return l, os.WriteFile(path+".lock", fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
}

// Bind locks the file itself, once it exists; a second call does nothing.
// Error: another process serves the file by another path.
func (l *Lock) Bind() error {
	if l.file != nil {
		return nil
	}
	f, err := os.Open(l.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for waited := time.Duration(0); ; waited += lockPause {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			l.file = f // a file system that locks no files has only the other lock
			return nil
		}
		if waited >= staleLockTimeout/2 {
			by := openedBy(l.path)
			return errors.Join(fmt.Errorf("another taskyard serves %s by another path%s; stop it first or use another --data",
				l.path, by), f.Close())
		}
		time.Sleep(lockPause)
	}
}

// isOtherProcess reports whether another process has this id. In a container the server
// that was killed had the id that this one has.
func isOtherProcess(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 || n == os.Getpid() {
		return false
	}
	return !errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// Release drops the lock. The database must be closed.
func (l *Lock) Release() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.place.Unlock())
}
