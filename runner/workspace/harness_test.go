package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/task"
)

// write writes files below a folder; a name that ends in / is a folder.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(folder, name)
		ok(t, os.MkdirAll(filepath.Dir(file), 0o755))
		if !strings.HasSuffix(name, "/") {
			ok(t, os.WriteFile(file, []byte(text), 0o644))
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gitIn calls Git as a person would.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Maya", "GIT_AUTHOR_EMAIL=m@example.org",
		"GIT_COMMITTER_NAME=Maya", "GIT_COMMITTER_EMAIL=m@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository makes a repository with one commit of these files.
func newRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	gitIn(t, dir, "init", "-q", "-b", "main")
	write(t, dir, files)
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

// told is what a run left, in one line a file.
func told(w *task.Work) string {
	var b strings.Builder
	for _, f := range w.Files {
		b.WriteString(string(f.Change) + " " + f.Path)
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

func open(t *testing.T, o Options) *Space {
	t.Helper()
	s, err := Open(t.Context(), o)
	ok(t, err)
	return s
}

// again is what a run says of a folder after fn did its work there.
func after(t *testing.T, folder string, fn func()) *task.Work {
	t.Helper()
	s := open(t, Options{Run: 1, Origin: 1, Lease: 1, Workspace: folder, Dir: t.TempDir()})
	fn()
	return s.Close(t.Context(), true)
}
