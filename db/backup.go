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

	sqlite3 "github.com/mattn/go-sqlite3"
)

// CopyInto writes a consistent copy of the database to an empty file of SQLite,
// and checks its integrity. Of SQLite it is made by VACUUM INTO, and it is what
// the server has open, whatever lies at the path.
func (d *DB) CopyInto(ctx context.Context, file string) error {
	if d.pg != nil {
		return postgresInto(ctx, d.pg.url, file)
	}
	if err := d.vacuumOpen(ctx, file); err != nil {
		return orFull(err, file)
	}
	return CheckFileIntegrity(ctx, file)
}

// postgresInto is CopyInto for a database of PostgreSQL.
func postgresInto(ctx context.Context, url, file string) error {
	if fileSize(file) > 0 {
		return fmt.Errorf("%s already exists", file)
	}
	src, err := openSource(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = src.close() }() // nothing is written
	if err := makeSchema(ctx, file); err != nil {
		return orFull(err, file)
	}
	if _, err := copyFrom(ctx, src, file, nil); err != nil {
		return orFull(err, file)
	}
	return CheckFileIntegrity(ctx, file)
}

// CopyFileInto is CopyInto for a database that this process has not opened: the
// path of a file, or a URL of PostgreSQL.
func CopyFileInto(ctx context.Context, from, file string) error {
	if IsPostgres(from) {
		return postgresInto(ctx, from, file)
	}
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	src, err := openReadOnly(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := src.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		return orFull(err, file)
	}
	return CheckFileIntegrity(ctx, file)
}

// orFull says of a full disk where it is; it is an ENOSPC then.
func orFull(err error, file string) error {
	var se sqlite3.Error
	if errors.As(err, &se) && isFull(se) {
		return fmt.Errorf("write %s: %w", filepath.Dir(file), syscall.ENOSPC)
	}
	return err
}

// Describe returns the schema of a database file, and the end of its log.
func Describe(ctx context.Context, file string) (schema int64, end Head, err error) {
	c, err := openReadOnly(file)
	if err != nil {
		return 0, end, err
	}
	defer c.Close()
	if _, schema, err = schemaVersion(ctx, c); err != nil {
		return 0, end, err
	}
	end, err = readHead(ctx, c)
	return schema, end, err
}

func vacuumInto(ctx context.Context, src *sql.DB, to string) error {
	return writeCopy(ctx, to, func(tmp string) error {
		_, err := src.ExecContext(ctx, "VACUUM INTO ?", tmp)
		return err
	})
}

// partial is in the names of copies that are being written.
const partial = ".taskyard-partial"

// writeCopy makes write fill an empty file of a temporary name beside to, for
// only its owner to read, and gives it its name when it is synced and checked. What
// killed processes left in the folder is removed first.
func writeCopy(ctx context.Context, to string, write func(tmp string) error) error {
	SweepCopies(filepath.Dir(to))
	p, err := NewPartial(to)
	if err != nil {
		return err
	}
	defer p.Discard()
	if err := write(p.Name()); err != nil {
		return err
	}
	if err := CheckFileIntegrity(ctx, p.Name()); err != nil {
		return err
	}
	return p.Publish(to)
}

// Partial is a file that is being written, readable only by its owner. While this
// process lives no SweepCopies removes it.
type Partial struct{ *os.File }

// NewPartial makes an empty file of a temporary name beside to.
func NewPartial(to string) (*Partial, error) {
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*"+partial)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return &Partial{f}, nil
}

// Publish syncs the file and gives it its name.
func (p *Partial) Publish(to string) error {
	if err := syncFile(p.Name()); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), to); err != nil {
		return err
	}
	return syncFile(filepath.Dir(to))
}

// Discard closes the file, and removes it unless it was published.
func (p *Partial) Discard() {
	_ = removeAll(p.Name(), p.Name()+"-journal")
	_ = p.Close()
}

// SweepCopies removes unfinished copies from a folder, if the processes that
// wrote them have ended. Copies that cannot be removed stay.
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
