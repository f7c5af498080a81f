package db

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	sqlite3 "github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each numbered file in its own
// transaction. An existing file is copied to <path>.before-<version> first. A
// schema newer than this program is refused and left as it is. The caller holds
// the folder (see lockFolder).
func migrate(ctx context.Context, db *sql.DB, path string, log *slog.Logger) error {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	files := p.ListSources()
	want := files[len(files)-1].Version
	empty, have, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case have > want:
		return fmt.Errorf("the database %s has schema %d, this program knows up to %d: use a newer taskyard%s; nothing was changed",
			path, have, want, downgradeHint(path, want))
	case have == want:
		return nil
	case !empty:
		if err := backupBefore(ctx, db, path, have, log); err != nil {
			return err
		}
		log.Info("migrating the database", "from", have, "to", want)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", path, err)
	}
	return nil
}

// downgradeHint names the newest copy made before a migration that a program which
// knows schemas up to want can serve, or says where one may be.
func downgradeHint(path string, want int64) string {
	for n := want; n > 0; n-- {
		if copied := fmt.Sprintf("%s.before-%d", path, n); fileExists(copied) {
			return fmt.Sprintf(", or go back to the copy made before the upgrade, without what came since: "+
				"taskyard restore --replace %s", copied)
		}
	}
	return ", or restore a backup that was made before the upgrade"
}

// wantedSchema is the number of the last migration of this program.
func wantedSchema() (n int64) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil || len(files) == 0 {
		return 0
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil {
		panic("db: a migration without a number: " + number)
	}
	return n
}

// lockFolder waits until no other process holds the folder, and holds it until
// the answer is closed or the process ends. It is the folder that is locked,
// since to close the database file would drop the locks of SQLite. Where the
// file system locks no folders nobody can wait. Error: ctx is over.
func lockFolder(ctx context.Context, folder string) (io.Closer, error) {
	f := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if _, err := f.TryLockContext(ctx, lockPause); err != nil && ctx.Err() != nil {
		return nil, err
	}
	return f, nil
}

// schemaVersion returns the highest migration that the file has seen.
func schemaVersion(ctx context.Context, db *sql.DB) (empty bool, version int64, err error) {
	var n int
	if err := db.QueryRowContext(ctx, hasTable.sqlite, schemaTable).Scan(&n); err != nil {
		return false, 0, err
	}
	if n == 0 {
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
		return n == 0, 0, err
	}
	err = db.QueryRowContext(ctx, selectSchemaVersion).Scan(&version)
	return false, version, err
}

func backupBefore(ctx context.Context, db *sql.DB, path string, version int64, log *slog.Logger) error {
	to := fmt.Sprintf("%s.before-%d", path, version)
	if _, err := os.Stat(to); err == nil {
		to = fmt.Sprintf("%s.%d", to, os.Getpid())
	}
	if err := copyWithProgress(ctx, db, path, to, log); err != nil {
		return fmt.Errorf("backup before migration: %w", err)
	}
	log.Info("database copied before migration", "file", to)
	return nil
}

// SchemaVersion returns the highest migration of the open database.
func (d *DB) SchemaVersion(ctx context.Context) (int64, error) {
	var v int64
	err := d.Read(ctx, func(rx *Rx) error {
		return rx.row(selectSchemaVersion).Scan(&v)
	})
	return v, err
}

// SQLiteVersion returns the version of SQLite in this program, such as 3.53.3.
func SQLiteVersion() string {
	v, _, _ := sqlite3.Version()
	return v
}
