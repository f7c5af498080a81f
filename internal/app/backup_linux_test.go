package app

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/archive"
	"taskyard/internal/testkit"
)

func TestFilesThatAnAgentMadeUnreadableStopNoBackup(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	work := filepath.Join(data, "runs/run-1-1/work")
	testkit.NoError(t, os.MkdirAll(filepath.Join(work, "locked"), 0o755))
	for _, name := range []string{"a", "secret", "locked/b", "z"} {
		testkit.NoError(t, os.WriteFile(filepath.Join(work, name), []byte("x"), 0o644))
	}
	testkit.NoError(t, os.Chmod(filepath.Join(work, "secret"), 0))
	testkit.NoError(t, os.Chmod(filepath.Join(work, "locked"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(work, "locked"), 0o700) })
	body, err := os.Create(filepath.Join(t.TempDir(), "body"))
	testkit.NoError(t, err)
	defer body.Close()
	w, err := archive.NewWriter(body, time.Now())
	testkit.NoError(t, err)
	b, m := &backup{ctx: t.Context(), to: w, data: data}, &archive.Manifest{}
	if os.Geteuid() == 0 { // modes do not apply to root: this thread gets another account
		for dir := work; dir != filepath.Dir(filepath.Dir(data)); dir = filepath.Dir(dir) {
			testkit.NoError(t, os.Chmod(dir, 0o755)) // a server in another test sets the umask
		}
		for _, name := range []string{"a", "z"} {
			testkit.NoError(t, os.Chmod(filepath.Join(work, name), 0o644))
		}
		become(t, 65534)
	}
	err = b.addAll("", m, true)
	if os.Geteuid() != 0 && os.Getuid() == 0 {
		become(t, 0)
	}
	testkit.NoError(t, err)
	var out bytes.Buffer
	testkit.NoError(t, w.Finish(&out, m))
	if !m.Has("runs/run-1-1/work/a") || !m.Has("runs/run-1-1/work/z") || len(m.Files) != 2 {
		t.Errorf("got the files %+v", m.Files)
	}
}

// become changes the effective account of this thread, which the test then keeps.
func become(t *testing.T, uid uintptr) {
	t.Helper()
	runtime.LockOSThread()
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); e != 0 {
		t.Fatal(e)
	}
	if uid == 0 {
		runtime.UnlockOSThread() // of the first call
		runtime.UnlockOSThread()
	}
}
