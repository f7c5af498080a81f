package db_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
)

// TestAnEmptyDatabaseIsNeverCreatedBesideLeftovers leaves one file of an earlier
// database at a time, with a missing or an empty database.
func TestAnEmptyDatabaseIsNeverCreatedBesideLeftovers(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	const name = "taskyard.db"
	open := func(t *testing.T, path string) error {
		d, err := db.Open(t.Context(), db.Options{Path: path, Log: slog.New(slog.DiscardHandler), NoSync: true})
		if err == nil {
			ok(t, d.Close())
		}
		return err
	}
	for _, left := range []string{
		name + "-wal", name + "-shm", name + "-journal", name + ".restoring", name + ".replaced",
		name + ".replaced-20260101T000000", name + ".rescued-20260101T000000",
		name + ".before-8", "backups/taskyard-20260101T000000.000.db", "backups/mine.db",
	} {
		t.Run(left, func(t *testing.T) {
			t.Parallel()
			for what, prepare := range map[string]func(path string) error{
				"missing": func(string) error { return nil },
				"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
			} {
				if what == "empty" && left == name+"-journal" {
					continue // left by an interrupted first start; SQLite rolls it back
				}
				dir := t.TempDir()
				path, file := filepath.Join(dir, name), filepath.Join(dir, left)
				ok(t, os.MkdirAll(filepath.Dir(file), 0o700))
				ok(t, os.WriteFile(file, []byte("what is left"), 0o600))
				ok(t, prepare(path))
				errorContains(t, open(t, path), "is missing or empty", file, "no new database is made", "taskyard restore")
				if fi, err := os.Stat(path); what == "missing" && err == nil || what == "empty" && (err != nil || fi.Size() != 0) {
					t.Errorf("%s database was changed: %v, %v", what, fi, err)
				}
				if b, err := os.ReadFile(file); err != nil || string(b) != "what is left" {
					t.Errorf("%s database: %s was changed: %q, %v", what, left, b, err)
				}
				ok(t, os.Remove(file))
				ok(t, open(t, path)) // as the message advises
			}
		})
	}
	t.Run("empty files are leftovers of an interrupted first start", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), name)
		for _, suffix := range []string{"-wal", "-shm"} {
			ok(t, os.WriteFile(path+suffix, nil, 0o600))
		}
		ok(t, open(t, path))
	})
	t.Run("a backup is restored from its folder in the instance", func(t *testing.T) {
		t.Parallel()
		d := dbtest.New(t)
		makeTask(t, d, "kept")
		dir := t.TempDir()
		ok(t, os.Mkdir(filepath.Join(dir, "backups"), 0o700))
		backup := filepath.Join(dir, "backups", "mine.db")
		ok(t, d.CopyInto(t.Context(), backup))
		ok(t, restore(t, backup, filepath.Join(dir, name)))
		equal(t, "tasks", count(t, dbtest.Open(t, filepath.Join(dir, name)), "SELECT count(*) FROM tasks"), 1)
	})
}
