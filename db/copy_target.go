package db

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
)

// makeTarget creates the schema of a database that has none. No server can
// start on a SQLite file until release is called.
func makeTarget(ctx context.Context, name string) (release func() error, err error) {
	if IsPostgres(name) {
		return func() error { return nil }, makePostgresTarget(ctx, name)
	}
	path, err := resolve(name)
	if err != nil {
		return nil, err
	}
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	lock, err := AcquireLock(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err := errors.Join(err, startAnew(path), lock.Bind(), makeSchema(ctx, path)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock.Release, nil
}

func makePostgresTarget(ctx context.Context, name string) error {
	c, err := pgConnect(ctx, name, false, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	rx := &Rx{c: c}
	n, err := rx.count(hasTable.of(rx), schemaTable)
	if err != nil {
		return err
	}
	if half, err := rx.halfMade(); err != nil || n > 0 && !half {
		return err
	}
	return (&pgStore{url: name}).migrate(ctx)
}

// halfMade reports whether a database has a schema whose making a kill has cut off:
// it is an older one, and nothing was ever written.
func (rx *Rx) halfMade() (bool, error) {
	n, err := rx.count(hasTable.of(rx), schemaTable)
	if err != nil || n == 0 {
		return false, err
	}
	have, err := rx.count(schemaOf)
	if err != nil || have >= int(wantedSchema()) {
		return false, err
	}
	if n, err = rx.count(hasTable.of(rx), "events"); err != nil || n == 0 {
		return err == nil, err
	}
	n, err = rx.count("SELECT count(*) FROM events")
	return err == nil && n == 0, err
}

// startAnew empties a SQLite file whose schema is half made.
func startAnew(path string) error {
	c, err := newConn(targetDSN(path))
	if err != nil {
		return err
	}
	half, err := (&Rx{c: c}).halfMade()
	if err := errors.Join(err, c.Close()); err != nil || !half {
		return err
	}
	return os.Truncate(path, 0)
}

// makeSchema creates the schema in an empty SQLite file.
func makeSchema(ctx context.Context, path string) error {
	c, err := sql.Open("sqlite3", targetDSN(path))
	if err != nil {
		return err
	}
	c.SetMaxOpenConns(1)
	empty, _, err := schemaVersion(ctx, c)
	if err == nil && empty {
		err = migrate(ctx, c, path, quiet)
	}
	return errors.Join(err, c.Close())
}

// targetDSN opens a SQLite file without a log beside it: of an empty database a
// rollback journal is short, and a log would hold everything a second time.
func targetDSN(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?_journal_mode=DELETE&_synchronous=FULL&_cache_size=-65536&" + common
}
