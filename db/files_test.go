package db_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

func TestBackupAndRestore(t *testing.T) {
	dbtest.SQLiteOnly(t)
	d := dbtest.New(t)
	kept := makeTask(t, d, "kept")
	makeRun := func(d *db.DB, of task.ID) (id task.ID) {
		write(t, d, func(tx *db.Tx) (err error) { id, err = tx.InsertRun(newRun(of)); return err })
		return id
	}
	waits := makeRun(d, kept)
	// held claims the task, starts the run, and returns the claim and lease numbers.
	held := func(d *db.DB) (h string) {
		write(t, d, func(tx *db.Tx) error {
			if err := tx.Claim(kept, "coder", time.Hour); err != nil {
				return err
			}
			tk, err := tx.TaskRow(kept)
			if err != nil {
				return err
			}
			r, err := tx.Run(waits)
			if err != nil {
				return err
			}
			if _, err = tx.StartRun(r, tk.Claim.ID, time.Minute); err != nil {
				return err
			}
			r, err = tx.Run(waits)
			h = fmt.Sprintf("claim %d, lease %d", tk.Claim.ID, r.Lease)
			return err
		})
		return h
	}
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	ok(t, d.CopyInto(t.Context(), to))
	later := makeTask(t, d, "later")
	ran, before := makeRun(d, later), held(d)

	t.Run("a backup is complete and leaves no other files", func(t *testing.T) {
		ok(t, db.CheckFileIntegrity(t.Context(), to))
		files, err := os.ReadDir(dir)
		ok(t, err)
		equal(t, "files", len(files), 1)
	})
	t.Run("a copy does not overwrite a file", func(t *testing.T) {
		errorContains(t, d.CopyInto(t.Context(), to), "already exists")
	})
	t.Run("a database without a server is backed up too", func(t *testing.T) {
		ok(t, db.CopyFileInto(t.Context(), to, filepath.Join(dir, "second.db")))
		errorContains(t, db.CopyFileInto(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "third.db")), "no database")
	})
	path := d.Path()
	ok(t, d.Close())
	t.Run("a damaged or foreign file is not restored", func(t *testing.T) {
		b, err := os.ReadFile(to)
		ok(t, err)
		for i := 8192; i < len(b); i += 64 {
			b[i] ^= 0xff
		}
		bad := filepath.Join(dir, "bad.db")
		ok(t, os.WriteFile(bad, b, 0o600))
		if err := restore(t, bad, path); err == nil {
			t.Fatal("a damaged backup was restored")
		}
		foreign := filepath.Join(dir, "foreign.db")
		_, err = raw(t, foreign).ExecContext(t.Context(), "CREATE TABLE tasks (id)")
		ok(t, err)
		errorContains(t, restore(t, foreign, path), "not a Taskyard database")
		d := dbtest.Open(t, path)
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 2)
		ok(t, d.Close())
	})
	t.Run("a restore brings back the earlier state and keeps what it replaced", func(t *testing.T) {
		ok(t, restore(t, to, path))
		d := dbtest.Open(t, path)
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
		n, err := checkChain(d)
		ok(t, err)
		equal(t, "lines of the log", n, 1)
		// Folders and branches of the task and run that are no longer in the database
		// may still exist.
		next := makeTask(t, d, "next")
		equal(t, "next ID", next, later+1)
		equal(t, "next run", makeRun(d, next), ran+1)
		// Workers and agents may still be working.
		if now := held(d); now == before {
			t.Errorf("claim and lease numbers are reused: %s", now)
		}
		ok(t, d.Close())
		old := dbtest.Open(t, path+".replaced")
		equal(t, "tasks of the old one", count(t, old, "SELECT count(*) FROM tasks"), 2)
	})
	t.Run("a second restore does not overwrite what the first one kept", func(t *testing.T) {
		errorContains(t, restore(t, to, path), ".replaced exists")
	})
}

func TestClosingADatabaseEmptiesItsWAL(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	d := dbtest.New(t)
	makeTask(t, d, "first")
	backup := filepath.Join(t.TempDir(), "backup.db")
	ok(t, d.CopyInto(t.Context(), backup))
	makeTask(t, d, "second")
	ok(t, d.Close())
	log, err := os.Stat(d.Path() + "-wal")
	ok(t, err)
	equal(t, "bytes of the log", log.Size(), 0)
	index, err := os.Stat(d.Path() + "-shm")
	ok(t, err)
	equal(t, "the -shm file keeps its size", index.Size() >= 32<<10, true)
	// Copy a backup over the database instead of restoring it.
	b, err := os.ReadFile(backup)
	ok(t, err)
	ok(t, os.WriteFile(d.Path(), b, 0o600))
	again := dbtest.Open(t, d.Path())
	equal(t, "tasks", count(t, again, "SELECT count(*) FROM tasks"), 1)
	ok(t, db.CheckFileIntegrity(t.Context(), d.Path()))
}

func TestALockErrorNamesTheProcessThatHoldsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	first, err := db.AcquireLock(path)
	ok(t, err)
	_, err = db.AcquireLock(path)
	errorContains(t, err, fmt.Sprintf("process %d", os.Getpid()), path)
	ok(t, first.Release())
	again, err := db.AcquireLock(path)
	ok(t, err)
	ok(t, again.Release())
}

func TestSchemas(t *testing.T) {
	dbtest.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "x.db")
	d := dbtest.Open(t, path)
	makeTask(t, d, "kept")
	v, err := d.SchemaVersion(t.Context())
	ok(t, err)
	ok(t, d.Close())

	t.Run("a current schema is opened without a copy", func(t *testing.T) {
		ok(t, dbtest.Open(t, path).Close())
		copies, err := filepath.Glob(path + ".before-*")
		ok(t, err)
		equal(t, "copies", len(copies), 0)
	})
	t.Run("a newer schema is refused and left unchanged", func(t *testing.T) {
		c := raw(t, path)
		_, err := c.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		ok(t, err)
		ok(t, c.Close())
		before, err := os.ReadFile(path)
		ok(t, err)
		_, err = db.Open(t.Context(), db.Options{Path: path})
		errorContains(t, err, "schema 999", fmt.Sprintf("up to %d", v), "nothing was changed")
		after, err := os.ReadFile(path)
		ok(t, err)
		equal(t, "file unchanged", string(after) == string(before), true)
		c = raw(t, path)
		_, err = c.ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id = 999")
		ok(t, err)
		ok(t, c.Close())
		ok(t, dbtest.Open(t, path).Close())
	})
	t.Run("an existing file is copied before it is migrated", func(t *testing.T) {
		old := filepath.Join(t.TempDir(), "old.db")
		c := raw(t, old)
		for _, q := range []string{
			"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, " +
				"is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)",
			"CREATE TABLE mine (a)", "INSERT INTO mine VALUES (42)",
		} {
			_, err := c.ExecContext(t.Context(), q)
			ok(t, err)
		}
		ok(t, c.Close())
		d := dbtest.Open(t, old)
		now, err := d.SchemaVersion(t.Context())
		ok(t, err)
		equal(t, "version", now, v)
		equal(t, "rows kept", count(t, d, "SELECT count(*) FROM mine"), 1)
		ok(t, db.CheckFileIntegrity(t.Context(), old+".before-0"))
		var n int
		ok(t, raw(t, old+".before-0").QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name = 'tasks'").Scan(&n))
		equal(t, "tables of the copy", n, 0)
	})
}

func TestADatabaseDeletedWhileOpen(t *testing.T) {
	dbtest.SQLiteOnly(t)
	d := dbtest.New(t)
	makeTask(t, d, "x")
	away := d.Path() + ".away"
	ok(t, os.Rename(d.Path(), away))
	if err := tryTask(d, "y"); !task.IsCode(err, task.CodeUnavailable) {
		t.Errorf("write: got %v, want %s", err, task.CodeUnavailable)
	}
	if err := d.Probe(context.Background()); !task.IsCode(err, task.CodeUnavailable) {
		t.Errorf("probe: got %v, want %s", err, task.CodeUnavailable)
	}
	t.Run("reads use the open file even if another file replaced it", func(t *testing.T) {
		ok(t, os.WriteFile(d.Path(), nil, 0o600))
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
	})
	t.Run("writes are refused until a restart, even if the file is back", func(t *testing.T) {
		ok(t, os.Rename(away, d.Path()))
		d.CheckFile()
		if err := d.Probe(context.Background()); !task.IsCode(err, task.CodeUnavailable) {
			t.Errorf("got %v, want %s", err, task.CodeUnavailable)
		}
	})
}

func TestRestoreRequiresAFileName(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	file := filepath.Join(t.TempDir(), "backup.db")
	ok(t, d.CopyInto(t.Context(), file))
	errorContains(t, restore(t, file, ""), "no database file is named")
}
