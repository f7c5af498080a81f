package agentfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"taskyard/task"
)

func wantCode(t *testing.T, err error, kind task.Kind, code task.Code) *task.Error {
	t.Helper()
	var e *task.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Code != code {
		t.Fatalf("got error %v, want %s %s", err, kind, code)
	}
	return e
}

func onDisk(t *testing.T, dir, id string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, id+ext))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSave(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	f := open(t, dir)
	t.Run("writes a file and uses it immediately", func(t *testing.T) {
		a, err := f.Save("a", headings, "", false)
		if err != nil {
			t.Fatal(err)
		}
		wantValid(t, a)
		equal(t, "text", onDisk(t, dir, "a"), headings)
		equal(t, "agent", agent(t, f, "a").Hash, textHash(headings))
	})
	t.Run("refuses invalid text and reports every problem with its line", func(t *testing.T) {
		_, err := f.Save("a", front("max_turns: -1", "timeout: x"), "", false)
		e := wantCode(t, err, task.Invalid, task.CodeInvalidField)
		equal(t, "fields", len(e.AllFields()), 2)
		for i, begin := range []string{"line 4: max_turns", "line 5: timeout"} {
			equal(t, "field", e.AllFields()[i].Field, "text")
			equal(t, begin, strings.HasPrefix(e.AllFields()[i].Message, begin), true)
		}
		equal(t, "text", onDisk(t, dir, "a"), headings)
	})
	t.Run("refuses to overwrite a file that the author has not seen", func(t *testing.T) {
		put(t, dir, "a.md", front())
		_, err := f.Save("a", headings, textHash(headings), false)
		wantCode(t, err, task.Conflict, task.CodeStaleAgent)
		_, err = f.Save("gone", headings, textHash(headings), false)
		wantCode(t, err, task.Conflict, task.CodeStaleAgent)
		equal(t, "text", onDisk(t, dir, "a"), front())
	})
	t.Run("overwrites a file that the author has seen", func(t *testing.T) {
		if _, err := f.Save("a", headings, textHash(front()), false); err != nil {
			t.Fatal(err)
		}
		equal(t, "text", onDisk(t, dir, "a"), headings)
	})
	t.Run("writes invalid text by force, and the last valid version is still in use", func(t *testing.T) {
		a, err := f.Save("a", broken, "", true)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "text on disk", onDisk(t, dir, "a"), broken)
		equal(t, "status", a.Status, task.AgentInvalid)
		equal(t, "serving", a.Serving, true)
		equal(t, "text in use", a.Text, headings)
	})
	t.Run("refuses what is not text, even by force", func(t *testing.T) {
		for _, text := range []string{"\x00", "\xff", strings.Repeat("a", MaxFile+1)} {
			_, err := f.Save("a", text, "", true)
			wantCode(t, err, task.Invalid, task.CodeInvalidField)
		}
	})
	t.Run("refuses a name outside the folder", func(t *testing.T) {
		for _, id := range []string{"../x", "/x", "", "A", ".x"} {
			_, err := f.Save(id, headings, "", true)
			wantCode(t, err, task.Invalid, task.CodeInvalidField)
		}
	})
	t.Run("refuses to replace a link", func(t *testing.T) {
		target := filepath.Join(t.TempDir(), "target")
		if err := errors.Join(os.WriteFile(target, []byte("keep"), 0o600), os.Symlink(target, filepath.Join(dir, "link.md"))); err != nil {
			t.Fatal(err)
		}
		_, err := f.Save("link", headings, "", true)
		wantCode(t, err, task.Conflict, task.CodeStaleAgent)
	})
	t.Run("leaves no temporary file", func(t *testing.T) {
		left, _ := filepath.Glob(filepath.Join(dir, ".*tmp*"))
		equal(t, "temporary files", len(left), 0)
	})
	t.Run("reports that the folder is missing", func(t *testing.T) {
		gone := filepath.Join(t.TempDir(), "agents")
		f := open(t, gone)
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		_, err := f.Save("a", headings, "", false)
		wantCode(t, err, task.Unavailable, task.CodeUnavailable)
	})
}

func TestOfTwoWritersWithTheSameHashOneWins(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	put(t, dir, "a.md", headings)
	f := open(t, dir)
	var wg sync.WaitGroup
	errs := make(chan error, 10)
	for i := range cap(errs) {
		wg.Go(func() {
			_, err := f.Save("a", headings+strings.Repeat("x", i+1), textHash(headings), false)
			errs <- err
			_ = f.Agents()
		})
	}
	wg.Wait()
	close(errs)
	won := 0
	for err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, task.Conflict, task.CodeStaleAgent)
	}
	equal(t, "winners", won, 1)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	put(t, dir, "a.md", headings)
	f := open(t, dir)
	if err := f.Delete("a"); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, f)
	for _, id := range []string{"a", "../a", ""} {
		t.Run("reports that there is no agent "+id, func(t *testing.T) {
			wantCode(t, f.Delete(id), task.NotFound, task.CodeAgentNotFound)
		})
	}
}
