//go:build linux

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/runner/instance"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

func TestAFolderIsComparedBeforeAndAfter(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"keep.txt": "same\n", "edit.txt": "one\ntwo\nthree\n", "gone.txt": "bye\n", "bin": "a\x00b",
		"touched": "as it was\n", "deep/er/x.go": "package x\n",
		".git/config": "old", "node_modules/a/b.js": "old", "run.sh": "echo\n",
	})
	w := after(t, folder, func() {
		write(t, folder, map[string]string{
			"edit.txt": "one\n2\nthree\n", "new.txt": "hello\n", "bin": "a\x00c",
			"touched": "as it was\n", "deep/er/x.go": "package y\n", "empty": "",
			".git/config": "new", "node_modules/a/b.js": "new",
		})
		ok(t, os.Remove(filepath.Join(folder, "gone.txt")))
		ok(t, os.Chmod(filepath.Join(folder, "run.sh"), 0o755))
	})
	same(t, "the list", changeList(w), `
modified bin (binary, 3 B → 3 B)
modified deep/er/x.go
modified edit.txt
added empty (empty)
deleted gone.txt
added new.txt
modified run.sh (mode 0644 → 0755)`)
	for _, f := range w.Files {
		if f.Path == "edit.txt" {
			same(t, "the diff", f.Diff, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")
		}
	}
	if a, r := w.Lines(); a != 3 || r != 3 || w.Total != 7 {
		t.Errorf("got %d lines added, %d removed, %d files", a, r, w.Total)
	}
	if !strings.Contains(w.Patch(), "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n") {
		t.Errorf("got the patch\n%s", w.Patch())
	}
}

func TestHostileFilesInAFolder(t *testing.T) {
	t.Parallel()
	t.Run("a time that is set back hides no change", func(t *testing.T) {
		folder := t.TempDir()
		write(t, folder, map[string]string{"a": "111\n"})
		file := filepath.Join(folder, "a")
		then := time.Unix(1e9, 0)
		ok(t, os.Chtimes(file, then, then))
		w := after(t, folder, func() {
			write(t, folder, map[string]string{"a": "222\n"})
			ok(t, os.Chtimes(file, then, then))
		})
		same(t, "the list", changeList(w), "modified a")
	})
	t.Run("links out of the folder are listed, never followed", func(t *testing.T) {
		folder, outside := t.TempDir(), t.TempDir()
		write(t, outside, map[string]string{"secret": "hidden words\n", "dir/x": "hidden words\n"})
		w := after(t, folder, func() {
			ok(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")))
			ok(t, os.Symlink(filepath.Join(outside, "dir"), filepath.Join(folder, "dir")))
		})
		same(t, "the list", changeList(w), "added dir (symbolic link)\nadded link (symbolic link)")
		if strings.Contains(w.Patch(), "hidden words") {
			t.Error("the link was followed")
		}
	})
	t.Run("a file replaced by a pipe does not block", func(t *testing.T) {
		folder := t.TempDir()
		write(t, folder, map[string]string{"a": "text\n"})
		w := after(t, folder, func() {
			ok(t, os.Remove(filepath.Join(folder, "a")))
			ok(t, syscall.Mkfifo(filepath.Join(folder, "a"), 0o644))
			ok(t, syscall.Mkfifo(filepath.Join(folder, "b"), 0o644))
		})
		same(t, "the list", changeList(w), "modified a (file → pipe)\nadded b (pipe)")
	})
	t.Run("a file replaced by a pipe after it was examined is not opened", func(t *testing.T) {
		folder := t.TempDir()
		root, err := os.OpenRoot(folder)
		ok(t, err)
		defer root.Close()
		ok(t, syscall.Mkfifo(filepath.Join(folder, "a"), 0o644))
		done := make(chan error, 1)
		go func() {
			f, _, err := instance.Open(root, "a", false, func(fs.FileInfo) error { return nil })
			if err == nil {
				f.Close()
			}
			done <- err
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it blocks on the pipe")
		}
	})
	t.Run("unusual names are listed on one line", func(t *testing.T) {
		folder := t.TempDir()
		names := []string{"-rf", "a\nb", "a\x1b[31mb", "caf\xe9", "rtl\u202egpj.exe", `q"uote`, "  blank "}
		w := after(t, folder, func() {
			for _, n := range names {
				write(t, folder, map[string]string{n: "x\n"})
			}
		})
		if len(w.Files) != len(names) {
			t.Fatalf("got %d files: %s", len(w.Files), changeList(w))
		}
		for line := range strings.Lines(w.Patch()) {
			if strings.ContainsRune(line, 0x1b) || strings.HasPrefix(line, "b") {
				t.Errorf("got line %q", line)
			}
		}
		if !strings.Contains(w.Patch(), `+++ "b/a\nb"`) {
			t.Errorf("got the patch\n%s", w.Patch())
		}
	})
	t.Run("lines contain no secrets and no control characters", func(t *testing.T) {
		s := open(t, Options{
			Run: 1, Origin: 1, Dir: t.TempDir(),
			Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") },
		})
		write(t, s.folder, map[string]string{"a-hunter2": "key=hunter2\r\n\x1b[2Jgone\xff\n"})
		w := s.Close(t.Context(), true)
		same(t, "the patch", w.Patch(), "diff --git a/a-[redacted] b/a-[redacted]\nnew file mode 100644\n--- /dev/null\n+++ "+
			"b/a-[redacted]\n@@ -0,0 +1,2 @@\n+key=[redacted]\r\n+^[[2Jgone\uFFFD")
	})
}

func TestTheLimitsOfAComparison(t *testing.T) {
	t.Parallel()
	t.Run("a folder with more than 50,000 entries is not compared, and that is noted", func(t *testing.T) {
		folder := t.TempDir()
		for i := range maxEntries {
			if f, err := os.Create(filepath.Join(folder, fmt.Sprintf("f%d", i))); err == nil {
				f.Close()
			}
		}
		w := after(t, folder, func() { write(t, folder, map[string]string{"one-more": ""}) })
		if len(w.Files) != 0 || !strings.Contains(w.Note, "more than 50,000 files") {
			t.Errorf("got %d files, note %q", len(w.Files), w.Note)
		}
	})
	t.Run("more than 1,000 changed files are counted", func(t *testing.T) {
		folder := t.TempDir()
		w := after(t, folder, func() {
			for i := range 1200 {
				write(t, folder, map[string]string{fmt.Sprintf("f%04d", i): "x\n"})
			}
		})
		if len(w.Files) != task.MaxFiles || w.Total != 1200 || !strings.Contains(w.Patch(), "200 more files") {
			t.Errorf("got %d files of %d", len(w.Files), w.Total)
		}
	})
	t.Run("a long diff is cut at a line, and says how much is left out", func(t *testing.T) {
		w := after(t, t.TempDir(), func() {})
		if len(w.Files) != 0 || w.Note != "" {
			t.Errorf("a run without changes left %+v", w)
		}
		folder := t.TempDir()
		w = after(t, folder, func() {
			write(t, folder, map[string]string{"long": strings.Repeat("0123456789abcde\n", 10_000), "huge": strings.Repeat("x\n", textdiff.MaxText)})
		})
		same(t, "the list", changeList(w), "added huge (too large to compare, 512.0 KiB)\nadded long (6,147 lines of its diff are left out)")
		if f := w.Files[1]; f.Added != 10_000 || len(f.Diff) > task.MaxFileDiff || !strings.HasSuffix(f.Diff, "\n") {
			t.Errorf("got %d lines added, %d bytes", f.Added, len(f.Diff))
		}
	})
	t.Run("all diffs together stay below their limit", func(t *testing.T) {
		folder := t.TempDir()
		w := after(t, folder, func() {
			for i := range 20 {
				write(t, folder, map[string]string{fmt.Sprint("f", i): strings.Repeat(fmt.Sprintf("%015d\n", i), 3000)})
			}
		})
		sum := 0
		for _, f := range w.Files {
			sum += len(f.Diff)
		}
		if sum > task.MaxDiff || !strings.Contains(w.Files[19].Note, "left out") {
			t.Errorf("got %d bytes, last note %q", sum, w.Files[19].Note)
		}
	})
	t.Run("folders that are too deep are skipped, and that is noted", func(t *testing.T) {
		folder := t.TempDir()
		w := after(t, folder, func() { write(t, folder, map[string]string{strings.Repeat("d/", maxDepth+1) + "x": "x"}) })
		if len(w.Files) != 0 || !strings.Contains(w.Note, "deep") {
			t.Errorf("%+v", w)
		}
	})
}

func TestRunsThatShareAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := open(t, Options{Run: 1, Lease: 1, Workspace: folder, Dir: t.TempDir()})
	second := open(t, Options{Run: 2, Lease: 2, Workspace: folder, Dir: t.TempDir()})
	a, b := first.Close(t.Context(), true), second.Close(t.Context(), true)
	if !strings.Contains(a.Note, "Another run worked") || !strings.Contains(b.Note, "Another run worked") ||
		!strings.Contains(b.Note, "was restarted") || strings.Contains(a.Note, "restarted") {
		t.Errorf("got notes %q and %q", a.Note, b.Note)
	}
	if w := after(t, folder, func() {}); w.Note != "" {
		t.Errorf("got note %q for a run without another", w.Note)
	}
}

func TestAWorkspaceIsApartFromTheDataFolder(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	data := filepath.Join(top, "data")
	write(t, top, map[string]string{"data/taskyard.db": "x", "data/runs/run-1/": ""})
	ok(t, os.Symlink(data, filepath.Join(top, "link")))
	release, err := instance.Protect(filepath.Join(data, "taskyard.db"))
	ok(t, err)
	defer release()
	for _, workspace := range []string{"/", top, data, data + "/runs", top + "/link", "worktree:" + data, "worktree:" + top + "/link/runs"} {
		_, err := Open(t.Context(), Options{Run: 1, Origin: 1, Lease: 1, Workspace: workspace, Dir: t.TempDir()})
		no, ok := errors.AsType[*UnusableError](err)
		if !ok || !strings.Contains(no.Reason, "data folder") || !strings.Contains(no.Reason, "use a folder") {
			t.Errorf("%s: got %v", workspace, err)
		}
	}
	t.Run("a repository may contain it", func(t *testing.T) {
		ok(t, CheckApart("worktree:"+top, data))
	})
	t.Run("a hard link to its files is not opened", func(t *testing.T) {
		folder := t.TempDir()
		w := after(t, folder, func() { ok(t, os.Link(filepath.Join(data, "taskyard.db"), filepath.Join(folder, "db"))) })
		if len(w.Files) != 1 || w.Files[0].Diff != "" || w.Files[0].Added != 0 {
			t.Errorf("%+v", w.Files)
		}
	})
}
