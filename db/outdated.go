package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// LockOutdated takes the lock of a database whose schema is older than that of
// this program, for a command that migrates it when it opens it. Otherwise the
// lock is nil. Error: a server uses the database; it would be left with a schema
// that it does not know.
func LockOutdated(ctx context.Context, path string) (*Lock, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() == 0 {
		return nil, nil
	}
	c, err := openReadOnly(path)
	if err != nil {
		return nil, err
	}
	empty, have, err := schemaVersion(ctx, c)
	if err = errors.Join(err, c.Close()); err != nil || empty || have >= wantedSchema() {
		return nil, nil // opening it says what is wrong with it
	}
	l, err := AcquireLock(path)
	if err != nil {
		return nil, fmt.Errorf("this program would migrate the database from schema %d to %d under a server of an earlier version: "+
			"restart the server with this program first (%w)", have, wantedSchema(), err)
	}
	return l, nil
}
