package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/task"
)

// cause says what is wrong with the store, from what heals by itself to what
// lasts until a restart.
type cause int

const (
	causeDisk   cause = iota + 1 // full or read-only; every write tries again
	causeLinks                   // the file has other names; writes are refused until it has one
	causeFiles                   // deleted or replaced under the server
	causeSync                    // what the disk holds is not known
	causeDamage                  // SQLite found nonsense
)

// isPermanent reports whether only a restart ends it.
func (c cause) isPermanent() bool { return c >= causeFiles }

// fault is why the store cannot be written.
type fault struct {
	cause cause
	err   *task.Error
}

// Fault returns why the store cannot be written now, or nil: a *task.Error
// that says what to do.
func (d *DB) Fault() error {
	if f := d.fault.Load(); f != nil {
		return f.err
	}
	return nil
}

// refusal is Fault when no write may be tried.
func (d *DB) refusal() error { return d.faultAtLeast(causeLinks) }

// faultAtLeast returns the current fault if it is at least as serious as c,
// else nil.
func (d *DB) faultAtLeast(c cause) error {
	if f := d.fault.Load(); f != nil && f.cause >= c {
		return f.err
	}
	return nil
}

// setFault sets the fault, unless a more serious one is already known, and logs it once.
// It reports whether the fault is new.
func (d *DB) setFault(c cause, err *task.Error) bool {
	for {
		old := d.fault.Load()
		if old != nil && (old.cause.isPermanent() || old.cause > c) {
			return false
		}
		if !d.fault.CompareAndSwap(old, &fault{c, err}) {
			continue
		}
		if old != nil && old.cause == c {
			return false
		}
		d.log.Error("the database cannot be written", "path", d.Path(), "error", err.Message)
		return true
	}
}

// clearFault drops a fault of this cause.
func (d *DB) clearFault(c cause) {
	if f := d.fault.Load(); f != nil && f.cause == c && d.fault.CompareAndSwap(f, nil) {
		d.log.Info("the database can be written again", "path", d.Path())
	}
}

// explain gives the failures that an operator can fix their own kind, and
// notes those that concern the whole store.
func (d *DB) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) { // of bounded; the driver says so where it noticed before SQLite
		return errSearchTooLong()
	}
	if d.pg != nil {
		return d.explainPostgres(err)
	}
	var se sqlite3.Error // on the heap: only here, where something failed
	if !errors.As(err, &se) {
		return err
	}
	switch {
	case isFull(se):
		e := task.Errorf(task.Full, task.CodeDiskFull, "The disk of the server is full; nothing was written, reads continue")
		d.setFault(causeDisk, e)
		return e
	case se.Code == sqlite3.ErrReadonly, se.SystemErrno == syscall.EROFS:
		e := task.Errorf(task.Unavailable, task.CodeUnavailable,
			"The database cannot be written now: its file system is read-only (%s); reads continue. Mount it writable again", se.Error())
		d.setFault(causeDisk, e)
		return e
	case se.Code == sqlite3.ErrCantOpen:
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The database cannot be opened now (%s); try again in a moment", se.Error())
	case isDamage(se):
		return d.damaged(se)
	case se.Code == sqlite3.ErrIoErr && se.ExtendedCode != sqlite3.ErrIoErrNoMem:
		e := task.Errorf(task.Unavailable, task.CodeUnavailable,
			"The disk failed under the database (%s). Nothing is written until the server is restarted: look into the system's "+
				"log, then restart it; if it does not start, restore a backup (%s)", se.Error(), howToRestore)
		d.setFault(causeSync, e)
		return e
	case se.Code == sqlite3.ErrBusy, se.Code == sqlite3.ErrLocked:
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The database is busy; try again in a moment")
	case se.Code == sqlite3.ErrInterrupt:
		return errSearchTooLong()
	}
	return err
}

func errSearchTooLong() error {
	return task.Errorf(task.Unavailable, task.CodeUnavailable, "The search took too long. Narrow it: more of a word, an owner, or a label")
}

const howToRestore = "stop the server, then taskyard restore --replace FILE; scheduled backups are in the folder backups"

func (d *DB) damaged(cause error) error {
	e := task.Errorf(task.Unavailable, task.CodeUnavailable,
		"The database is damaged (%s). Nothing is written any more; restore a backup: %s", cause, howToRestore)
	d.setFault(causeDamage, e)
	return e
}

// isDamage reports whether SQLite found nonsense in a file.
func isDamage(err error) bool {
	var se sqlite3.Error
	return errors.As(err, &se) && (se.Code == sqlite3.ErrCorrupt && se.ExtendedCode != sqlite3.ErrCorruptVTab || se.Code == sqlite3.ErrNotADB)
}

// isFull reports whether there was no room. SQLite calls only ENOSPC full;
// quotas and limits of a file's size are the same to whoever asked.
func isFull(se sqlite3.Error) bool {
	if se.Code == sqlite3.ErrFull {
		return true
	}
	return se.Code == sqlite3.ErrIoErr && se.ExtendedCode != sqlite3.ErrIoErrFsync &&
		(se.SystemErrno == syscall.ENOSPC || se.SystemErrno == syscall.EDQUOT || se.SystemErrno == syscall.EFBIG)
}

// commitUncertain reports whether a COMMIT that ended so may nevertheless be found
// done after a restart: the log was written, and how much of it the disk
// holds is not known.
func commitUncertain(err error) bool {
	var se sqlite3.Error
	return errors.As(err, &se) && se.Code == sqlite3.ErrIoErr && se.ExtendedCode != sqlite3.ErrIoErrNoMem &&
		!isFull(se) && se.SystemErrno != syscall.EROFS
}

// errUnknown is the answer to a write of which nobody can say whether it was
// stored.
func errUnknown(why string) *task.Error {
	return task.Errorf(task.Unavailable, task.CodeOutcomeUnknown,
		"Whether this was stored is unknown: %s. Check after the restart, or repeat the request with the same Idempotency-Key", why)
}

func fileGoneError(file string) *task.Error {
	return task.Errorf(task.Unavailable, task.CodeUnavailable,
		"The file %s was deleted or replaced under the running server; nothing is written until the server is restarted", filepath.Base(file))
}

func fileLinkedError(path string, n uint64) *task.Error {
	return task.Errorf(task.Unavailable, task.CodeUnavailable, "%s",
		fmt.Sprintf("The file %s has %d names (hard links): two servers on one file destroy it. Nothing is written "+
			"until the other names are removed (find -samefile shows them)", filepath.Base(path), n))
}
