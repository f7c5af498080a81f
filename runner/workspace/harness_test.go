package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
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
	testkit.NoError(t, err)
}

// changeList returns the changes of a run, one line per file.
func changeList(w *task.Work) string {
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

// after returns the changes that a run reports after fn worked in its folder.
func after(t *testing.T, folder string, fn func()) *task.Work {
	t.Helper()
	s := open(t, Options{Run: 1, Origin: 1, Lease: 1, Workspace: folder, Dir: t.TempDir()})
	fn()
	return s.Close(t.Context(), true)
}
