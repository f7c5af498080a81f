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
	if err := errors.Join(err, lock.Bind(), discardPartial(path), makeSchema(ctx, path)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock.Release, nil
}

func makePostgresTarget(ctx context.Context, name string) error {
	c, err := pgConnect(ctx, name, false, nil, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.suitable(); err != nil {
		return err
	}
	if found, err := (&Rx{c: c}).targetSchema(); err != nil || found == schemaMade {
		return err
	}
	return (&pgStore{url: name}).migrate(ctx)
}

// targetSchema is how much of the schema the target of a copy has.
type targetSchema int

const (
	noSchema      targetSchema = iota
	partialSchema              // a copy was killed while it made it
	schemaMade
)

// targetSchema tells a schema that a killed copy left from that of an older
// version: nothing was ever written with it.
func (rx *Rx) targetSchema() (targetSchema, error) {
	n, err := rx.count(hasTable.forStore(rx), schemaTable)
	if err != nil || n == 0 {
		return noSchema, err
	}
	have, err := rx.count(selectSchemaVersion)
	if err != nil || have >= int(wantedSchema()) {
		return schemaMade, err
	}
	if n, err = rx.count(hasTable.forStore(rx), "events"); err != nil || n == 0 {
		return partialSchema, err
	}
	if n, err = rx.count("SELECT count(*) FROM events"); err != nil || n == 0 {
		return partialSchema, err
	}
	return schemaMade, nil
}

// discardPartial empties a SQLite file whose schema is partial.
func discardPartial(path string) error {
	c, err := newConn(targetDSN(path))
	if err != nil {
		return err
	}
	found, err := (&Rx{c: c}).targetSchema()
	if err := errors.Join(err, c.Close()); err != nil || found != partialSchema {
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
