package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"taskyard/task"
)

// Now returns the time of the clock that stamps reads and writes: with
// PostgreSQL its own, as far as it is known.
func (d *DB) Now() task.Time {
	if d.pg != nil {
		return d.pg.stamp()
	}
	return task.TimeFromStd(d.now())
}

// Probe writes a row, to find out whether writes work.
func (d *DB) Probe(ctx context.Context) error {
	return d.Write(ctx, func(tx *Tx) error {
		return tx.do("INSERT INTO settings (key, value) VALUES ('probe', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1", tx.Now.String())
	})
}

// Free returns the free space on the file system of the database, in bytes.
func (d *DB) Free() (uint64, error) {
	if d.pg != nil {
		return 0, errors.ErrUnsupported // it is on another machine
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(d.path), &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil //nolint:unconvert // the types differ between systems
}

// Schema returns the version of the database and that of this program.
func (d *DB) Schema(ctx context.Context) (have, want int64, err error) {
	have, err = d.SchemaVersion(ctx)
	return have, wantedSchema(), err
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}
