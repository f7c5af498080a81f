package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Backup writes a consistent copy of the database to a new file: VACUUM INTO
// a temporary name beside it, sync, integrity check, rename. An existing file
// is not overwritten.
func (d *DB) Backup(ctx context.Context, to string) error { return BackupFile(ctx, d.path, to) }

// BackupFile is Backup for a database that this process has not opened.
func BackupFile(ctx context.Context, from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s exists already; give a new name", to)
	}
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	src, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: from}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer src.Close()
	return vacuumInto(ctx, src, to)
}

func vacuumInto(ctx context.Context, src *sql.DB, to string) error {
	tmp := to + ".partial"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer os.Remove(tmp)
	if _, err := src.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := CheckFileIntegrity(ctx, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	return syncFile(filepath.Dir(to))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// CheckFileIntegrity runs SQLite's own checks over a database file.
func CheckFileIntegrity(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	return quickCheck(ctx, db)
}

func quickCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check").Scan(&verdict); err != nil {
		return fmt.Errorf("integrity check: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("the database is damaged: %s; restore a backup", verdict)
	}
	rows, err := db.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		return errors.New("the database is damaged: a foreign key points nowhere; restore a backup")
	}
	return rows.Err()
}

// Restore puts the backup file from in the place of the database at path,
// which no process may have open (hold its Lock). The backup is checked
// first; the present database, with its -wal and -shm, is kept as
// <path>.replaced, which must not exist yet.
func Restore(ctx context.Context, from, path string) error {
	if err := CheckFileIntegrity(ctx, from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := isTaskyard(ctx, from); err != nil {
		return err
	}
	kept := path + ".replaced"
	if _, err := os.Stat(kept); err == nil {
		return fmt.Errorf("%s exists from an earlier restore; move it away first", kept)
	}
	tmp := path + ".restoring"
	if err := copyDB(ctx, from, tmp); err != nil {
		return err
	}
	// The old log must go with the old file: over another file it corrupts.
	for _, suffix := range []string{"-wal", "-shm", ""} {
		err := os.Rename(path+suffix, kept+suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncFile(filepath.Dir(path))
}

func copyDB(ctx context.Context, from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	src, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: from}).EscapedPath()+"?mode=ro")
	if err != nil {
		return err
	}
	defer src.Close()
	return vacuumInto(ctx, src, to)
}

func isTaskyard(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('tasks', 'events', 'goose_db_version')").Scan(&n)
	if err != nil {
		return err
	}
	if n != 3 {
		return fmt.Errorf("%s is not a Taskyard database", path)
	}
	return nil
}
