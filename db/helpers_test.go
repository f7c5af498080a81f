package db_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	sqlite3 "github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"

	"taskyard/db"
	"taskyard/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// errorContains checks that the text of err contains all of words.
func errorContains(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that contains %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("got error %q, want one that contains %q", err, w)
		}
	}
}

func write(t testing.TB, d *db.DB, fn func(*db.Tx) error) {
	t.Helper()
	ok(t, d.Write(context.Background(), fn))
}

func count(t testing.TB, d *db.DB, q string, args ...any) (n int) {
	t.Helper()
	ok(t, d.Read(context.Background(), func(rx *db.Rx) (err error) {
		n, err = rx.Count(q, args...)
		return err
	}))
	return n
}

// newTask inserts a task of coder.
func newTask(tx *db.Tx, title string) (task.ID, error) {
	id, err := tx.InsertTask(&task.Task{
		Title: title, Owner: "coder", CreatedBy: "user:maya", Status: task.Active, Channel: "web",
		Steps: []task.Step{{Title: "one"}}, Resources: []task.Resource{{Type: "file", Value: "/a"}},
	})
	if err != nil {
		return 0, err
	}
	return id, tx.AddEvent(task.Event{Actor: "user:maya", Kind: task.EvTaskCreated, TaskID: id})
}

func makeTask(t testing.TB, d *db.DB, title string) (id task.ID) {
	t.Helper()
	write(t, d, func(tx *db.Tx) (err error) {
		id, err = newTask(tx, title)
		return err
	})
	return id
}

func init() {
	sql.Register("sqlite3_raw", &sqlite3.SQLiteDriver{ConnectHook: db.AddWordsFit}) // with the function that some statements need
}

// raw opens a database without the protections of package db.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	driver, name := "sqlite3_raw", "file:"+path+"?_busy_timeout=5000"
	if strings.HasPrefix(path, "postgres://") {
		driver, name = "pgx", path
	}
	c, err := sql.Open(driver, name)
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func checkChain(d *db.DB) (n int, err error) {
	err = d.Read(context.Background(), func(rx *db.Rx) error {
		n, err = rx.CheckChain()
		return err
	})
	return n, err
}

var errOwn = errors.New("its own error")

// restore restores a backup and discards the report.
func restore(t testing.TB, from, path string) error {
	t.Helper()
	_, err := db.Restore(t.Context(), from, path, false)
	return err
}
