package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Backup writes a consistent copy of the database to a new file, readable by
// its owner alone: VACUUM INTO a temporary name beside it, sync, integrity
// check, rename. An existing file is not overwritten. It reads what the server
// has open, whatever lies at the path.
func (d *DB) Backup(ctx context.Context, to string) error {
	if err := isNew(to); err != nil {
		return err
	}
	return d.copyOpen(ctx, to)
}

// BackupFile is Backup for a database that this process has not opened.
func BackupFile(ctx context.Context, from, to string) error {
	if err := isNew(to); err != nil {
		return err
	}
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	src, err := openReadOnly(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return vacuumInto(ctx, src, to)
}

func isNew(to string) error {
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s exists already; give a new name", to)
	}
	return nil
}

func vacuumInto(ctx context.Context, src *sql.DB, to string) error {
	return writeCopy(ctx, to, func(tmp string) error {
		_, err := src.ExecContext(ctx, "VACUUM INTO ?", tmp)
		return err
	})
}

// partial is in the names of copies that are being written.
const partial = ".taskyard-partial"

// writeCopy has write fill an empty file of a temporary name beside to, for
// its owner alone, and gives it its name when it is synced and checked. What
// killed processes left in the folder is removed first.
func writeCopy(ctx context.Context, to string, write func(tmp string) error) error {
	SweepCopies(filepath.Dir(to))
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*"+partial)
	if err != nil {
		return err
	}
	defer f.Close()
	tmp := f.Name()
	defer func() { _ = removeAll(tmp, tmp+"-journal") }()
	// While this process lives nobody takes the file for a dead one's.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	if err := write(tmp); err != nil {
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

// SweepCopies removes, from a folder, the unfinished copies of processes that
// live no more. What cannot be removed stays.
func SweepCopies(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), "-journal")
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, partial) {
			continue
		}
		file := filepath.Join(dir, name)
		if ok && fileExists(file) {
			continue // goes with its copy
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = removeAll(file, file+"-journal")
		}
		_ = f.Close()
	}
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
	db, err := openReadOnly(path)
	if err != nil {
		return err
	}
	defer db.Close()
	return quickCheck(ctx, db)
}

func quickCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check").Scan(&verdict); err != nil {
		if isDamage(err) {
			return fmt.Errorf("the database is damaged: %w; restore a backup", err)
		}
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
