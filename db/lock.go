package db

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Lock is the right to serve a database file.
type Lock struct{ f *flock.Flock }

const (
	lockPatience = time.Second // with the lock of a process that is dead
	lockPause    = 10 * time.Millisecond
)

// AcquireLock takes <path>.lock. When a living process serves the file the
// error names its process id, at once. A process that was killed while it
// started a program leaves the lock, for a moment, to the child that was about
// to become that program: that one is waited for, for a second at most.
func AcquireLock(path string) (*Lock, error) {
	f := flock.New(path + ".lock")
	for waited := time.Duration(0); ; waited += lockPause {
		ok, err := f.TryLock()
		if err != nil {
			return nil, err
		}
		if ok {
			break
		}
		b, _ := os.ReadFile(path + ".lock")
		pid := strings.TrimSpace(string(b))
		if waited >= lockPatience || alive(pid) {
			return nil, fmt.Errorf("another taskyard (process %s) serves %s; stop it first or use another --data", pid, path)
		}
		time.Sleep(lockPause)
	}
	if err := os.WriteFile(path+".lock", fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// alive tells whether another process has this id. In a container the server
// that was killed had the id that this one has.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 || n == os.Getpid() {
		return false
	}
	return !errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// Release gives the right back.
func (l *Lock) Release() error { return l.f.Unlock() }
