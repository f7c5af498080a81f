package db

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// CopiedTable is a table that Copy has copied.
type CopiedTable struct {
	Name string
	Rows int
	Took time.Duration
}

// Copied is what Copy has copied and verified.
type Copied struct {
	Tables, Rows int
	Log          Head // its end, the same in both databases
}

// IsPostgres reports whether the name of a database is the URL of one of
// PostgreSQL; any other is the path of a SQLite file.
func IsPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// ShownDatabase is the name of a database without a password.
func ShownDatabase(name string) string {
	if !IsPostgres(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "PostgreSQL"
	}
	q := u.Query()
	if q.Has("password") || q.Has("sslpassword") {
		q.Del("password")
		q.Del("sslpassword")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// Copy copies a whole database into an empty one: from and to are paths of
// SQLite files or URLs of PostgreSQL, in any combination. It reads a snapshot,
// so that a server may use the source meanwhile, and writes one transaction,
// which is verified before it is committed: after an error the target is as
// empty as before. A target without a schema gets one. The search is not
// copied: servers make it again in the background. progress is called after
// each table; nil is allowed.
func Copy(ctx context.Context, from, to string, progress func(CopiedTable)) (r Copied, err error) {
	src, err := openSource(ctx, from)
	if err != nil {
		return r, fmt.Errorf("%s: %w", ShownDatabase(from), err)
	}
	defer func() { err = errors.Join(err, src.close()) }()
	release, err := makeTarget(ctx, to)
	if err != nil {
		return r, fmt.Errorf("%s: %w", ShownDatabase(to), err)
	}
	defer func() { err = errors.Join(err, release()) }()
	return copyFrom(ctx, src, to, progress)
}

// copyFrom copies into a database that has its schema.
func copyFrom(ctx context.Context, src *copySide, to string, progress func(CopiedTable)) (r Copied, err error) {
	dst, err := openTarget(ctx, to)
	if err != nil {
		return r, fmt.Errorf("%s: %w", ShownDatabase(to), err)
	}
	defer func() { err = errors.Join(err, dst.close()) }()
	if progress == nil {
		progress = func(CopiedTable) {}
	}
	return (&dbCopy{src: src, dst: dst, progress: progress}).run(ctx)
}

// copySide is one of the two databases of a copy, in a transaction of its own.
type copySide struct {
	Tx
	name string
}

// close rolls back what is not committed.
func (s *copySide) close() error {
	_ = s.c.exec("ROLLBACK") // after a commit there is nothing to roll back
	return s.c.Close()
}

// openSource begins a snapshot of a database.
func openSource(ctx context.Context, name string) (*copySide, error) {
	var c *conn
	var err error
	if IsPostgres(name) {
		c, err = pgForCopy(ctx, name, true)
	} else {
		c, err = sqliteSource(name)
	}
	if err != nil {
		return nil, err
	}
	s := &copySide{Tx: Tx{Rx: Rx{c: c}}, name: ShownDatabase(name)}
	if err := errors.Join(c.exec(beginSnapshot.forStore(&s.Rx)), s.checkSchema()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

func sqliteSource(name string) (*conn, error) {
	path, err := resolve(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("no database: %w", err)
	}
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	return newConn(readerDSN(path))
}

// pgForCopy connects to PostgreSQL without the timeouts of a server: one side
// of a copy is idle while the other one works.
func pgForCopy(ctx context.Context, url string, readOnly bool) (*conn, error) {
	c, err := pgConnect(ctx, url, readOnly, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.exec("SET idle_in_transaction_session_timeout = 0"), c.exec("SET tcp_user_timeout = 0")); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

var (
	hasTable = storeSQL{
		"SELECT count(*) FROM sqlite_schema WHERE name = ?",
		"SELECT count(*) FROM pg_class WHERE oid = to_regclass(?)",
	}
	beginCopy = storeSQL{"BEGIN IMMEDIATE", "BEGIN"}
)

const (
	schemaTable         = "goose_db_version"
	selectSchemaVersion = "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied"
)

// checkSchema refuses a database of another schema than this program's.
func (s *copySide) checkSchema() error {
	n, err := s.count(hasTable.forStore(&s.Rx), schemaTable)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("this is not a Taskyard database")
	}
	have, err := s.count(selectSchemaVersion)
	switch want := int(wantedSchema()); {
	case err != nil:
		return err
	case have < want:
		return fmt.Errorf("the database has schema %d, this program copies schema %d: start the server on it once, which upgrades it", have, want)
	case have > want:
		return fmt.Errorf("the database has schema %d, this program copies schema %d: use a newer taskyard", have, want)
	}
	return nil
}

// openTarget begins the transaction that writes a database.
func openTarget(ctx context.Context, name string) (*copySide, error) {
	var c *conn
	var err error
	if IsPostgres(name) {
		c, err = pgForCopy(ctx, name, false)
	} else if name, err = resolve(name); err == nil {
		c, err = newConn(targetDSN(name))
	}
	if err != nil {
		return nil, err
	}
	s := &copySide{Tx: Tx{Rx: Rx{c: c}}, name: ShownDatabase(name)}
	err = c.exec(beginCopy.forStore(&s.Rx))
	switch {
	case err != nil:
	case c.postgres(): // servers that use it already wait
		err = s.row("SELECT CAST(pg_advisory_xact_lock(?) AS TEXT)", int64(pgWriteLock)).Scan(new(string))
	default: // rows may reference later ones of their table
		err = c.exec("PRAGMA defer_foreign_keys = ON")
	}
	if err := errors.Join(err, s.checkSchema()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// dbCopy copies one database into another.
type dbCopy struct {
	src, dst *copySide
	progress func(CopiedTable)
	tables   []copyTable
	triggers []string // what creates those of the target again
}

func (d *dbCopy) run(ctx context.Context) (r Copied, err error) {
	if d.tables, err = matchTables(d.src, d.dst); err != nil {
		return r, err
	}
	for _, t := range d.tables {
		n, err := d.dst.count("SELECT count(*) FROM " + t.quoted())
		if err == nil && n > 0 {
			err = fmt.Errorf("%s is not empty: table %s has rows; copy into a new database", d.dst.name, t.name)
		}
		if err != nil {
			return r, err
		}
	}
	if err := d.dropTriggers(); err != nil {
		return r, err
	}
	for _, t := range d.tables {
		start := time.Now()
		n, err := d.rows(ctx, t)
		if err != nil {
			return r, fmt.Errorf("copy table %s: %w", t.name, err)
		}
		r.Tables, r.Rows = r.Tables+1, r.Rows+n
		d.progress(CopiedTable{t.name, n, time.Since(start)})
	}
	if err := errors.Join(d.copySequences(), d.restoreTriggers(), d.verify(ctx)); err != nil {
		return r, err
	}
	if r.Log, err = d.dst.Head(); err != nil {
		return r, err
	}
	return r, d.dst.c.exec("COMMIT")
}

// copySequences makes ids continue where those of the source end.
func (d *dbCopy) copySequences() error {
	rows := d.src.query("SELECT name, seq FROM sqlite_sequence ORDER BY name")
	return each(rows, func(r rowScanner) error {
		var name string
		var seq int64
		err := r.Scan(&name, &seq)
		if err != nil || seq == 0 || !slices.ContainsFunc(d.tables, func(t copyTable) bool { return t.name == name }) {
			return err
		}
		return errors.Join(d.dst.do("DELETE FROM sqlite_sequence WHERE name = ?", name),
			d.dst.do("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, seq))
	})
}
