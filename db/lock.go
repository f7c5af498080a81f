package db

import (
	"fmt"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// Lock is the right to serve a database file.
type Lock struct{ f *flock.Flock }

// AcquireLock takes <path>.lock without waiting. When another process serves
// the file the error names its process id.
func AcquireLock(path string) (*Lock, error) {
	f := flock.New(path + ".lock")
	ok, err := f.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		pid, _ := os.ReadFile(path + ".lock")
		return nil, fmt.Errorf("another taskyard (process %s) serves %s; stop it first or use another --data", strings.TrimSpace(string(pid)), path)
	}
	if err := os.WriteFile(path+".lock", fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// Release gives the right back.
func (l *Lock) Release() error { return l.f.Unlock() }
