//go:build linux

package instance

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taskyard/internal/testkit"
)

// newData creates a data folder whose database this process has locked, as SQLite
// does. It returns the folder and a function that reports whether the lock is still
// held.
func newData(t *testing.T) (data string, held func() bool) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	testkit.NoError(t, os.MkdirAll(filepath.Join(data, "agents"), 0o700))
	testkit.NoError(t, os.WriteFile(filepath.Join(data, "agents", "coder.md"), []byte("x"), 0o600))
	database := filepath.Join(data, "taskyard.db")
	release, err := Protect(database)
	testkit.NoError(t, err)
	t.Cleanup(release)
	// Neither is closed before the end: that would drop the lock.
	f, err := os.OpenFile(database, os.O_RDWR|os.O_CREATE, 0o600)
	testkit.NoError(t, err)
	other, err := os.Open(database)
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(); _ = other.Close() })
	testkit.NoError(t, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1}))
	return data, func() bool {
		look := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
		testkit.NoError(t, unix.FcntlFlock(other.Fd(), unix.F_OFD_GETLK, &look))
		return look.Type != unix.F_UNLCK
	}
}

func anything(fs.FileInfo) error { return nil }

func TestAFileOfAnInstanceIsNeverOpened(t *testing.T) {
	t.Parallel()
	data, held := newData(t)
	work := t.TempDir()
	testkit.NoError(t, os.Link(filepath.Join(data, "taskyard.db"), filepath.Join(work, "link")))
	testkit.NoError(t, os.Symlink("link", filepath.Join(work, "symlink")))
	root, err := os.OpenRoot(work)
	testkit.NoError(t, err)
	defer root.Close()
	above, err := os.OpenRoot(filepath.Dir(data))
	testkit.NoError(t, err)
	defer above.Close()
	for _, tt := range []struct {
		root *os.Root
		name string
	}{
		{root, "link"},
		{root, "symlink"},
		{above, "data/taskyard.db"},
		{above, "data/agents/coder.md"},
		{above, "data/agents"},
		{above, "data"},
	} {
		if f, _, err := Open(tt.root, tt.name, true, anything); !errors.Is(err, ErrProtected) {
			t.Errorf("%s: got %v, %v", tt.name, f, err)
		}
	}
	// SQLite may create these files again at any time.
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".lock"} {
		testkit.NoError(t, os.WriteFile(filepath.Join(data, "taskyard.db"+suffix), nil, 0o600))
		if _, _, err := Open(above, "data/taskyard.db"+suffix, true, anything); !errors.Is(err, ErrProtected) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	if !held() {
		t.Error("the lock was lost")
	}
	f, err := os.Open(filepath.Join(data, "taskyard.db"))
	testkit.NoError(t, err)
	testkit.NoError(t, f.Close())
	if held() {
		t.Error("the test does not detect a lost lock")
	}
}

func TestOpenFollowsOnlyLinksWithinItsFolder(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	testkit.NoError(t, os.MkdirAll(filepath.Join(work, "a", "b"), 0o700))
	testkit.NoError(t, os.WriteFile(filepath.Join(work, "a", "file"), []byte("here"), 0o600))
	for name, target := range map[string]string{
		"dir": "a/b", "one": "two", "two": "dir/../file",
		"out": "../x", "abs": "/etc/passwd", "round": "round",
	} {
		testkit.NoError(t, os.Symlink(target, filepath.Join(work, name)))
	}
	root, err := os.OpenRoot(work)
	testkit.NoError(t, err)
	defer root.Close()
	f, info, err := Open(root, "one", true, anything)
	testkit.NoError(t, err)
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "here" || err != nil || info.Size() != 4 {
		t.Errorf("got %q, %v, %v", text, err, info)
	}
	for _, name := range []string{"out", "abs", "round", "missing"} {
		if f, _, err := Open(root, name, true, anything); err == nil {
			t.Errorf("%s opened %s", name, f.Name())
		}
	}
	refusal := errors.New("a link")
	_, _, err = Open(root, "one", false, func(info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return refusal
		}
		return nil
	})
	if !errors.Is(err, refusal) {
		t.Errorf("without follow: got %v", err)
	}
}

func TestFoldersThatOverlapTheDataFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	data := filepath.Join(top, "srv", "data")
	testkit.NoError(t, os.MkdirAll(filepath.Join(data, "runs"), 0o700))
	testkit.NoError(t, os.MkdirAll(filepath.Join(top, "srv", "work"), 0o700))
	for name, target := range map[string]string{"to-data": data, "to-srv": "srv", "to-work": "srv/work"} {
		testkit.NoError(t, os.Symlink(target, filepath.Join(top, name)))
	}
	for _, tt := range []struct {
		path           string
		apart, outside bool
	}{
		{"/", false, true},
		{top, false, true},
		{filepath.Join(top, "srv"), false, true},
		{filepath.Join(top, "to-srv"), false, true},
		{data, false, false},
		{data + "/", false, false},
		{filepath.Join(top, "to-data"), false, false},
		{filepath.Join(data, "runs"), false, false},
		{filepath.Join(top, "to-data", "missing", "folder"), false, false},
		{filepath.Join(top, "srv", "work", "..", "data"), false, false},
		{filepath.Join(top, "srv", "work"), true, true},
		{filepath.Join(top, "to-work"), true, true},
		{filepath.Join(top, "srv", "data-2"), true, true},
		{filepath.Join(top, "missing"), true, true},
	} {
		if err := CheckApart(tt.path, data); (err == nil) != tt.apart {
			t.Errorf("apart from %s: got %v", tt.path, err)
		}
		if err := CheckOutside(tt.path, data); (err == nil) != tt.outside {
			t.Errorf("outside %s: got %v", tt.path, err)
		}
	}
	if missing := filepath.Join(top, "srv", "not-made", "data"); CheckApart(filepath.Join(top, "to-srv"), missing) == nil {
		t.Error("a data folder that does not exist yet is not recognized")
	}
}
