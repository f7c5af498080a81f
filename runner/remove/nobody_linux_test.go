package remove_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"taskyard/runner/remove"
)

// keep, as a user ID, leaves an ID unchanged.
const keep = ^uintptr(0)

// nobody switches the test to an account to which file modes apply, if it runs as
// root, and returns a folder for it. Only this thread is changed.
func nobody(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		return dir
	}
	ok(t, os.Chmod(filepath.Dir(dir), 0o755))
	ok(t, os.Chown(dir, 65534, 65534))
	become(t, 65534)
	t.Cleanup(func() { become(t, 0) })
	return dir
}

func become(t *testing.T, uid uintptr) {
	t.Helper()
	runtime.LockOSThread()
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uid, keep); e != 0 {
		t.Fatal(e)
	}
	if uid == 0 {
		runtime.UnlockOSThread() // of the first call
		runtime.UnlockOSThread()
	}
}

func TestWhatCannotBeRemovedIsReported(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can create files of another account")
	}
	dir := t.TempDir()
	ok(t, os.Chmod(filepath.Dir(dir), 0o755))
	for _, run := range []string{"one", "two"} {
		write(t, dir+"/"+run+"/mine/file", 0o600)
		write(t, dir+"/"+run+"/foreign/file", 0o600)
		for _, name := range []string{"", "/mine", "/mine/file"} {
			ok(t, os.Chown(dir+"/"+run+name, 65534, 65534))
		}
	}
	ok(t, os.Chown(dir, 65534, 65534))
	become(t, 65534)
	defer become(t, 0)
	root := open(t, dir)
	for range 2 {
		err := remove.All(t.Context(), root, "one", "two")
		if err == nil || !strings.HasPrefix(err.Error(), "2 files or folders could not be removed, the first: ") ||
			!strings.Contains(err.Error(), "permission denied") {
			t.Errorf("got error %v", err)
		}
		same(t, "left behind", names(t, dir), ".removing")
	}
	left := 0
	ok(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		left++
		if strings.HasSuffix(name, "mine") {
			t.Errorf("%s was not removed", name)
		}
		return err
	}))
	if left != 2+2*3 {
		t.Errorf("%d files and folders were not removed", left)
	}
}
