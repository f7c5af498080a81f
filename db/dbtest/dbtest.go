// Package dbtest provides each test with its own migrated database.
package dbtest

import (
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/mattn/go-sqlite3" // for Raw

	"taskyard/db"
)

// New opens a migrated database in a temporary folder and closes it when the
// test ends. Each with may change the options, such as the clock.
// Commits do not wait for the disk.
func New(t testing.TB, with ...func(*db.Options)) *db.DB {
	t.Helper()
	return Open(t, filepath.Join(t.TempDir(), "taskyard.db"), with...)
}

// Open is like New for a named file, which may already exist. The test may close
// the database earlier.
func Open(t testing.TB, path string, with ...func(*db.Options)) *db.DB {
	t.Helper()
	opt := db.Options{Path: path, Log: slog.New(slog.DiscardHandler), NoSync: true}
	if Postgres() {
		opt.URL = PostgresURL(t, path)
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(path, migrated(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range with {
		w(&opt)
	}
	d := open(t, opt)
	opened.Store(d, &opt)
	return d
}

func open(t testing.TB, opt db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), opt)
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return d
}

// Beside opens the PostgreSQL database of d again, as another server would, and
// closes it when the test ends.
func Beside(t testing.TB, d *db.DB) *db.DB {
	t.Helper()
	return open(t, *options(t, d))
}

// opened maps each database that Open opened to its *db.Options.
var opened sync.Map

func options(t testing.TB, d *db.DB) *db.Options {
	t.Helper()
	opt, ok := opened.Load(d)
	if !ok {
		t.Fatal("not opened by dbtest")
	}
	return opt.(*db.Options)
}

// Raw opens the database of d without the protections of package db, and closes it
// when the test ends.
func Raw(t testing.TB, d *db.DB) *sql.DB {
	t.Helper()
	driver, name := "sqlite3", "file:"+d.Path()+"?_busy_timeout=5000"
	if opt := options(t, d); opt.URL != "" {
		driver, name = "pgx", opt.URL
	}
	c, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Refuse makes the database reject a change, such as "UPDATE OF ended_at ON runs",
// of rows whose new version meets condition ("" means all). undo removes the rule.
func Refuse(t testing.TB, d *db.DB, change, condition, why string) (undo func()) {
	t.Helper()
	c := Raw(t, d)
	exec := func(q string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if condition != "" {
		condition = " WHEN (" + condition + ")"
	}
	if Postgres() {
		_, table, _ := strings.Cut(change, " ON ")
		exec("CREATE TRIGGER a_refusal BEFORE " + change + " FOR EACH ROW" + condition + " EXECUTE FUNCTION refuse('" + why + "')")
		return func() { exec("DROP TRIGGER a_refusal ON " + table) }
	}
	exec("CREATE TRIGGER a_refusal BEFORE " + change + condition + " BEGIN SELECT raise(ABORT, '" + why + "'); END")
	return func() { exec("DROP TRIGGER a_refusal") }
}

// fresh is an empty migrated database. The migrations run once per test process.
var fresh struct {
	once sync.Once
	file []byte
	err  error
}

func migrated(t testing.TB) []byte {
	t.Helper()
	fresh.once.Do(func() {
		path := filepath.Join(t.TempDir(), "fresh.db")
		d, err := db.Open(t.Context(), db.Options{Path: path, Log: slog.New(slog.DiscardHandler), NoSync: true})
		if err == nil {
			err = d.Close()
		}
		if err == nil {
			fresh.file, err = os.ReadFile(path)
		}
		fresh.err = err
	})
	if fresh.err != nil {
		t.Fatalf("migrate a database: %v", fresh.err)
	}
	return fresh.file
}
