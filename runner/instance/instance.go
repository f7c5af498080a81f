// Package instance prevents the server from opening files of its own data
// folder for an agent. Opening one is harmful by itself: when a process closes
// any descriptor of a file, POSIX drops all locks that the process holds on it,
// and SQLite relies on its locks. Therefore, a file is compared by device and
// inode before it is opened.
package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// RunsName is the folder of an instance in which runs work. Its files are not
// protected from agents.
const RunsName = "runs"

// ErrProtected says that a file belongs to an instance.
var ErrProtected = errors.New("it belongs to Taskyard's own data folder: it is never opened for an agent")

const (
	remembered = time.Second // how long the list of files that rarely change is cached
	maxFiles   = 20_000      // files that are listed at most
)

// suffixes are those of the files that SQLite and the server's lock create next
// to the database. They come and go, so they are checked every time.
var suffixes = []string{"", "-wal", "-shm", "-journal", ".lock"}

// key identifies a file.
type key struct{ device, inode uint64 }

func fileKey(info fs.FileInfo) (key, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return key{}, false
	}
	return key{uint64(st.Dev), st.Ino}, true //nolint:unconvert // their types differ between machines
}

// Identity identifies a file independently of its name, and holds when it was
// last changed.
type Identity struct {
	Device, Inode, Links uint64
	Touched              int64 // nanoseconds; last change of contents or attributes, which, unlike the modification time, cannot be set back
}

// folder is one data folder.
type folder struct {
	database string

	mu     sync.Mutex
	listed time.Time
	files  map[key]bool
}

var folders sync.Map // the protected folders

// Protect protects a database's folder until release is called: Open refuses its
// files, and Folders lists it.
func Protect(database string) (release func(), err error) {
	database, err = filepath.Abs(database)
	if err != nil {
		return nil, err
	}
	f := &folder{database: database}
	folders.Store(f, true)
	return func() { folders.Delete(f) }, nil
}

func protected() (list []*folder) {
	folders.Range(func(f, _ any) bool { list = append(list, f.(*folder)); return true })
	return list
}

// IsProtected reports whether a file or folder belongs to an instance.
func IsProtected(info fs.FileInfo) bool {
	k, ok := fileKey(info)
	return ok && slices.ContainsFunc(protected(), func(f *folder) bool { return f.contains(k) })
}

func (f *folder) contains(k key) bool {
	for _, suffix := range suffixes {
		if info, err := os.Lstat(f.database + suffix); err == nil {
			if own, ok := fileKey(info); ok && own == k {
				return true
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.files == nil || now.Sub(f.listed) > remembered {
		f.files, f.listed = list(filepath.Dir(f.database)), now
	}
	return f.files[k]
}

// list returns the files and folders of a data folder, including itself, but
// without those of runs. Unreadable ones are omitted: agents cannot read them
// either.
func list(dir string) map[key]bool {
	files := map[key]bool{}
	runs := filepath.Join(dir, RunsName)
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case path == runs:
			return fs.SkipDir
		case len(files) >= maxFiles:
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil {
			if k, ok := fileKey(info); ok {
				files[k] = true
			}
		}
		return nil
	})
	return files
}

// Folders returns the protected data folders.
func Folders() (list []string) {
	for _, f := range protected() {
		list = append(list, filepath.Dir(f.database))
	}
	return list
}

// CheckApart returns why a folder may not be used for an agent: it is the data
// folder, contains it, or is inside it. Links and mounts of the same folder are
// recognized. Neither folder needs to exist.
func CheckApart(path, data string) error {
	if IsWithin(path, data) && !IsWithin(data, path) {
		return fmt.Errorf("%s contains Taskyard's data folder %s; %s", path, data, fix)
	}
	return CheckOutside(path, data)
}

// CheckOutside returns why a folder may not be used for an agent: it is the
// data folder, or is inside it.
func CheckOutside(path, data string) error {
	switch {
	case !IsWithin(data, path):
		return nil
	case IsWithin(path, data):
		return fmt.Errorf("%s is Taskyard's data folder; %s", path, fix)
	}
	return fmt.Errorf("%s is in Taskyard's data folder %s; %s", path, data, fix)
}

const fix = "use a folder that is neither inside nor above it, such as /srv/work"

// IsWithin reports whether path is outer or is below it.
func IsWithin(outer, path string) bool {
	outer, path = Resolve(outer), Resolve(path)
	top, err := os.Stat(outer)
	for {
		if path == outer {
			return true
		}
		if info, e := os.Stat(path); err == nil && e == nil && os.SameFile(top, info) {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// Resolve returns the absolute path with symbolic links resolved as far as it
// exists.
func Resolve(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(Resolve(dir), filepath.Base(path))
	}
	return path
}
