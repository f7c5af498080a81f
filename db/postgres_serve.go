package db

import (
	"context"
	"errors"
	"time"

	"taskyard/task"
)

// pgServeLock is the lock of the server of a database, which it has as long as
// its connection lives.
const pgServeLock = 0x7461736b73727672

const (
	serverKey     = "server"         // the setting that names the process that serves
	servePatience = 30 * time.Second // with the server before, whose connection may be closing
)

var errServed = errors.New("another taskyard serves this database: stop it first. Several servers on one database are not supported yet")

// Serve makes this process the server of a database of PostgreSQL. It waits a
// moment for the one before it, whose end the database may not have noticed yet.
// From here on no write is made when another process has become the server
// meanwhile. With SQLite the Lock of the file is enough.
func (d *DB) Serve(ctx context.Context) error {
	pg := d.pg
	if pg == nil {
		return nil
	}
	for since := time.Now(); ; {
		ok, err := pg.elect(ctx)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if time.Since(since) > servePatience {
			return errServed
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := d.Write(ctx, func(tx *Tx) error { return tx.SetSetting(serverKey, pg.name) }); err != nil {
		return err
	}
	pg.serving.Store(true)
	return nil
}

// elect tries to get the lock of the server.
func (pg *pgStore) elect(ctx context.Context) (bool, error) {
	pg.mu.Lock()
	defer pg.mu.Unlock()
	if pg.seat == nil || pg.seat.broken() {
		c, err := pg.connect(ctx, false)
		if err != nil {
			return false, err
		}
		pg.seat = c
	}
	var ok bool
	err := (&Rx{c: pg.seat}).row("SELECT pg_try_advisory_lock(?)", int64(pgServeLock)).Scan(&ok)
	return ok, err
}

// keepServing gets the lock of the server again when its connection was lost.
func (d *DB) keepServing() {
	pg := d.pg
	if pg == nil || !pg.serving.Load() || time.Since(pg.asked) < time.Second {
		return
	}
	pg.asked = time.Now()
	pg.mu.Lock()
	lost := pg.seat.c.(*pgSession).c.Ping(bg) != nil
	pg.mu.Unlock()
	if lost {
		_, _ = pg.elect(bg) // else the next time; what others write meanwhile, begin sees
	}
}

// leave gives the lock of the server back.
func (pg *pgStore) leave() {
	if pg == nil {
		return
	}
	pg.mu.Lock()
	defer pg.mu.Unlock()
	if pg.seat != nil {
		_ = pg.seat.Close()
	}
}

// replaced notes that another process serves the database, and returns the
// error that says so.
func (d *DB) replaced() error {
	e := task.Errorf(task.Unavailable, task.CodeUnavailable,
		"Another taskyard has taken over the database; nothing is written any more. Stop one of the two and restart the other")
	d.note(causeFiles, e)
	return e
}
