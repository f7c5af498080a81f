package db

import (
	"context"
	"errors"
	"os"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/task"
)

// stamp is the time of a read or a transaction.
func (d *DB) stamp() task.Time { return task.TimeOf(d.now()) }

// watchFile compares, every 2 s, the open file with what lies at its path: a
// database that was deleted or replaced must not go on answering.
func (d *DB) watchFile() {
	defer close(d.watched)
	t := time.NewTicker(2 * time.Second)
	defer t.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-t.C:
			d.CheckFile()
		}
	}
}

// CheckFile notes whether the file at the path is still the open one.
func (d *DB) CheckFile() {
	now, err := os.Stat(d.path)
	gone := err != nil || !os.SameFile(now, d.ident)
	if d.gone.Swap(gone) != gone && gone {
		d.log.Error("the database file was deleted or replaced; refusing to work on", "path", d.path)
	}
}

// Probe writes, to learn whether writes work now.
func (d *DB) Probe(ctx context.Context) error {
	return d.Write(ctx, func(tx *Tx) error {
		return tx.do("INSERT INTO settings (key, value) VALUES ('probe', ?1) ON CONFLICT DO UPDATE SET value = ?1", tx.Now.String())
	})
}

// explain gives the failures that an operator can mend their own kind.
func explain(err error) error {
	var se sqlite3.Error
	if err == nil || !errors.As(err, &se) {
		return err
	}
	switch se.Code {
	case sqlite3.ErrFull:
		return task.Errorf(task.Full, task.CodeDiskFull, "The disk of the server is full; nothing was written, reads go on")
	case sqlite3.ErrReadonly, sqlite3.ErrCantOpen:
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The database cannot be written now (%s); reads go on", se.Error())
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The database is busy; try again in a moment")
	case sqlite3.ErrInterrupt:
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The search took too long; narrow it")
	}
	return err
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}
