package db_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// until polls until ok returns true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if <-tick.C; time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func tryTask(d *db.DB, title string) error {
	return d.Write(context.Background(), func(tx *db.Tx) error { _, err := newTask(tx, title); return err })
}

func TestDataOfDeletedFilesIsSaved(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	for name, files := range map[string][]string{
		"the log": {"-wal"}, "the index": {"-shm"}, "both": {"-wal", "-shm"}, "all": {"", "-wal", "-shm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t, func(o *db.Options) { o.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) })
			for range 31 {
				makeTask(t, d, "kept")
			}
			for _, f := range files {
				ok(t, os.Remove(d.Path()+f))
			}
			if err := tryTask(d, "refused"); !task.IsCode(err, task.CodeUnavailable) {
				t.Errorf("write after the deletion: got %v, want %s", err, task.CodeUnavailable)
			}
			equal(t, "tasks read meanwhile", count(t, d, "SELECT count(*) FROM tasks"), 31)
			until(t, "the data are saved", func() bool {
				return d.Fault() != nil && len(globs(t, d.Path()+".rescued-*")) == 1 && len(globs(t, d.Path()+".restore")) == 1
			})
			// Copy the folder, as a killed server would leave it.
			dir := t.TempDir()
			for _, f := range globs(t, d.Path()+"*") {
				b, err := os.ReadFile(f)
				ok(t, err)
				ok(t, os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600))
			}
			path := filepath.Join(dir, filepath.Base(d.Path()))
			_, err := db.Open(t.Context(), db.Options{Path: path})
			errorContains(t, err, "restore is not finished")
			ok(t, db.FinishRestore(path, slog.New(slog.DiscardHandler)))
			again := dbtest.Open(t, path)
			equal(t, "tasks after the restart", count(t, again, "SELECT count(*) FROM tasks WHERE title = 'kept'"), 31)
			makeTask(t, again, "next")
		})
	}
}

func globs(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	ok(t, err)
	return list
}

// A server keeps reading the files that it has open, and never reads whatever is at
// their path instead.
func TestReadsSurviveTheLossOfTheirFiles(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	for name, spoil := range map[string]func(path string) error{
		"all deleted": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"the log replaced": func(path string) error {
			return errors.Join(os.Remove(path+"-wal"), os.WriteFile(path+"-wal", nil, 0o600))
		},
		"the database replaced by another kind of file": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t, func(o *db.Options) { o.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) })
			makeTask(t, d, "kept")
			var others sync.WaitGroup
			ok(t, d.Read(t.Context(), func(*db.Rx) error { // occupies the one open connection
				for range 64 {
					others.Go(func() { equal(t, "tasks read meanwhile", count(t, d, "SELECT count(*) FROM tasks"), 1) })
				}
				ok(t, spoil(d.Path()))
				until(t, "the fault is known", func() bool { return d.Fault() != nil })
				return nil
			}))
			others.Wait()
			errorContains(t, d.Fault(), "deleted or replaced")
			errorContains(t, tryTask(d, "refused"), "deleted or replaced")
			until(t, "the data are saved", func() bool { return len(globs(t, d.Path()+".rescued-*")) == 1 })
		})
	}
}

func TestASearchThatTakesTooLongIsUnavailable(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	err := d.Read(t.Context(), func(*db.Rx) error { return fmt.Errorf("read rows: %w", context.DeadlineExceeded) })
	if e, ok := errors.AsType[*task.Error](err); !ok || e.Code != task.CodeUnavailable || !strings.Contains(e.Message, "took too long") {
		t.Errorf("got %v, want %s that says the read took too long", err, task.CodeUnavailable)
	}
}
