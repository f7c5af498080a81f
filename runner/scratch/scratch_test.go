package scratch

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
)

// holder is the first argument that makes this binary hold a folder until it is
// killed.
const holder = "__hold"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holder {
		f, err := New("shell")
		if err != nil {
			panic(err)
		}
		_ = os.MkdirAll(filepath.Join(f.Path, "home", "deep"), 0o700)
		_, _ = os.Stdout.WriteString(f.Path + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		testkit.EndHelper(0)
	}
	os.Exit(m.Run())
}

func exists(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Lstat(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAFolderOfAKilledProcessIsRemovedAtTheNextStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	own, err := New("shell")
	testkit.NoError(t, err)
	strange := filepath.Join(os.TempDir(), prefix+"of-a-person")
	linked := t.TempDir()
	if err := errors.Join(os.Mkdir(strange, 0o700), os.WriteFile(filepath.Join(linked, lockName), nil, 0o600), os.Chmod(linked, 0o700),
		os.Symlink(linked, filepath.Join(os.TempDir(), prefix+"link"))); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	testkit.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, holder)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	testkit.NoError(t, cmd.Start())
	defer in.Close()
	line, _, err := bufio.NewReader(out).ReadLine()
	testkit.NoError(t, err)
	left := string(line)
	if n, err := Clear(t.Context()); n != 0 || err != nil || !exists(t, left) {
		t.Errorf("of a running process: got %d, %v", n, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n, err := Clear(t.Context()); n != 1 || err != nil || exists(t, left) {
		t.Errorf("of a killed process: got %d, %v", n, err)
	}
	if !exists(t, own.Path) || !exists(t, strange) || !exists(t, filepath.Join(linked, lockName)) {
		t.Error("more was removed")
	}
	if err := own.Remove(t.Context()); err != nil || exists(t, own.Path) {
		t.Error(err)
	}
}
