package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	watchEvery  = 250 * time.Millisecond
	rescueEvery = 10 * time.Second // between attempts that failed
)

// inode identifies a file.
type inode struct{ dev, ino uint64 }

// watched are the files that a running server has open, and must find at their
// names: acknowledged writes are in all three of them.
var watched = [3]string{"", "-wal", "-shm"}

// statInode returns the inode at a path and how many names it has.
func statInode(path string) (inode, uint64, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Stat(path, &st)
		if err == nil {
			return inode{uint64(st.Dev), st.Ino}, uint64(st.Nlink), nil //nolint:unconvert // the types differ between systems
		}
		if !errors.Is(err, syscall.EINTR) {
			return inode{}, 0, err
		}
	}
}

// identify records which files the connections have open.
func (d *DB) identify() error {
	for i, suffix := range watched {
		id, _, err := statInode(d.path + suffix)
		if err != nil {
			return &os.PathError{Op: "stat", Path: d.path + suffix, Err: err}
		}
		d.ident[i] = id
	}
	return nil
}

// watchFiles compares, four times a second, the open files with what lies at
// their paths, and saves what a deleted one holds.
func (d *DB) watchFiles() {
	defer close(d.watchEnded)
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	var tried time.Time // the last rescue
	var probed time.Time
	for {
		select {
		case <-d.stop:
			return
		case <-t.C:
		}
		d.CheckFile()
		f := d.fault.Load()
		switch {
		case f == nil:
		case f.cause == causeFiles && !d.rescued.Load() && time.Since(tried) > rescueEvery:
			d.saveRescueCopy()
			tried = time.Now()
		case f.cause == causeDisk && time.Since(probed) > time.Second:
			// Whoever asks for nothing but pages is told, too, that it is over.
			_ = d.Probe(context.Background())
			probed = time.Now()
		}
	}
}

// CheckFile notes whether the files at their paths are still the open ones. It
// opens none of them, which would drop SQLite's locks when closed.
func (d *DB) CheckFile() {
	if d.pg != nil {
		return
	}
	for i, suffix := range watched {
		id, names, err := statInode(d.path + suffix)
		switch {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR), err == nil && id != d.ident[i]:
			d.setFault(causeFiles, fileGoneError(d.path+suffix))
			return
		case err != nil:
			return // the folder cannot be looked into now; nothing is known
		case i == 0 && names > 1:
			d.setFault(causeLinks, fileLinkedError(d.path, names))
			return
		}
	}
	d.clearFault(causeLinks)
}

// saveRescueCopy writes all that the open files hold into a new file beside them. The
// next start puts it in the place of the database, unless somebody has put
// another one there.
func (d *DB) saveRescueCopy() {
	d.writer.idle() // a batch that is under way is in it
	to := d.path + ".rescued-" + d.now().UTC().Format("20060102T150405")
	ctx := context.Background()
	if err := writeCopy(ctx, to, func(tmp string) error { return d.vacuumOpen(ctx, tmp) }); err != nil {
		d.log.Error("what the deleted files hold could not be saved; it is lost when the server ends",
			"path", d.path, "error", err, "again_in", rescueEvery.String())
		return
	}
	d.rescued.Store(true)
	id, _, err := statInode(d.path)
	what := "the next start puts it in place"
	if err == nil && id != d.ident[0] {
		what = "another file is in its place, which the next start serves; to have the saved one, stop the server, then " +
			"taskyard restore --replace " +
			filepath.Base(to)
	} else if err := writeRestoreJournal(d.path,
		restoreJournal{From: filepath.Base(to), Replaced: replacedName(d.path, d.now())}); err != nil {
		d.log.Error("failed to record the rescue", "error", err)
		what = "stop the server, then taskyard restore --replace " + filepath.Base(to)
	}
	e := *d.fault.Load().err
	e.Message += ". Everything acknowledged is saved in " + filepath.Base(to) + ": " + what
	d.fault.Store(&fault{causeFiles, &e})
	d.log.Error("what the deleted files hold is saved", "file", to, "next", what)
}

// vacuumOpen writes a copy of the database, by an open connection, to an empty
// file.
func (d *DB) vacuumOpen(ctx context.Context, file string) error {
	c, err := d.readers.take(ctx, d.stop)
	if err != nil {
		return err
	}
	defer d.readers.give(c)
	// VACUUM INTO counts as a write. The connection itself cannot write.
	if err := c.exec("PRAGMA query_only = OFF"); err != nil {
		return err
	}
	defer func() { _ = c.exec("PRAGMA query_only = ON") }()
	_, err = c.c.(driver.ExecerContext).ExecContext(ctx, "VACUUM INTO ?", []driver.NamedValue{{Ordinal: 1, Value: file}})
	return err
}
