package db

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"taskyard/task"
)

//go:embed migrations/postgres/*.sql
var pgMigrations embed.FS

// pgStore is the database of several servers on PostgreSQL.
//
// One transaction writes at a time, whichever server it is of: each begins by
// taking one lock and keeps it until it is committed. So all servers together
// have what the single writer of SQLite has: transactions in an order, numbers
// of the log in the order of the commits, so that no reader that follows it
// misses one, a hash chain that is complete at any time, and no transaction that
// fails because of another. Each commits the writes of all that wait at its
// server, and with them the time of a commit is shared.
type pgStore struct {
	url       string
	name      string           // of this process among those that write
	now       func() time.Time // of a test; nil: the database has the time
	primaries *primaries
	behind    atomic.Int64 // by how many milliseconds our clock is behind that of the database
	batch     int64        // the last one, only of the writer
}

// pgWriteLock is the lock of the transaction that writes.
const pgWriteLock = 0x7461736b79617264

// pgRetries is how often a batch whose connection was lost is tried again, with
// growing pauses: 12 s together, as long as a server that fell takes to return.
const pgRetries = 8

func openPostgres(ctx context.Context, opt Options) (*DB, error) {
	kept := "" // without a data folder nothing is kept
	if opt.Path != "" {
		kept = filepath.Join(filepath.Dir(opt.Path), timelineName)
	}
	pg := &pgStore{url: opt.URL, name: rand.Text(), now: opt.Now, primaries: newPrimaries(kept, opt.Log)}
	d := &DB{pg: pg, now: time.Now, log: opt.Log, stop: make(chan struct{}), watchEnded: make(chan struct{})}
	c, err := pg.firstConnection(ctx, opt.Log)
	if err != nil {
		return nil, err
	}
	if err := d.serve(c); err != nil {
		return nil, err
	}
	return d, nil
}

// startPatience is how long an opening waits for a database that is starting:
// after a power cut, or in a group of containers, both start at once.
const startPatience = 30 * time.Second

// firstConnection connects and brings the schema up to date. It waits for a
// server that cannot be reached yet; errors that do not pass by themselves, such
// as a wrong password, are returned at once.
func (pg *pgStore) firstConnection(ctx context.Context, log *slog.Logger) (*conn, error) {
	since := time.Now()
	for again := 0; ; again++ {
		c, err := pg.connectMigrated(ctx)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the database cannot be reached: %w", ctx.Err())
		case !mayPass(err):
			return nil, err
		case time.Since(since) >= startPatience:
			return nil, fmt.Errorf("no connection for %v: %w", startPatience, err)
		case again == 0:
			log.WarnContext(ctx, "waiting for the database", "at_most", startPatience.String(), "error", err)
		}
		pg.pause(ctx.Done(), min(again, 4)) // under a second: people wait for the start
	}
}

// mayPass reports whether an error of an opening is one of a server that is
// starting or cannot be reached for the moment. A certificate stays as it is.
func mayPass(err error) bool {
	var ce *tls.CertificateVerificationError
	return isLost(err) && !errors.As(err, &ce)
}

func (pg *pgStore) connectMigrated(ctx context.Context) (*conn, error) {
	c, err := pg.connect(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be reached: %w", err)
	}
	if err = c.suitable(); err == nil {
		err = pg.migrate(ctx)
	}
	if err == nil {
		err = c.mayUseTables()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// connect opens a connection.
func (pg *pgStore) connect(ctx context.Context, readOnly bool) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return pgConnect(ctx, pg.url, readOnly, pg.primaries, nil)
}

// migrate brings the schema up to date; of several servers that start at once,
// one does. A schema newer than this program is refused.
func (pg *pgStore) migrate(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(pg.url)
	if err != nil {
		return err
	}
	chooseHost(&cfg.Config, false, pg.primaries)
	cfg.RuntimeParams["statement_timeout"] = "0" // that of the role would end a long migration
	c := stdlib.OpenDB(*cfg)
	defer c.Close()
	folder, err := fs.Sub(pgMigrations, "migrations/postgres")
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, c, folder, goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	var pe *pgconn.PgError
	switch {
	case errors.As(err, &pe) && pe.Code == "42501":
		return fmt.Errorf("the user %s may not create tables: make it the owner of the database %s: %w", cfg.User, cfg.Database, err)
	case err != nil:
		return fmt.Errorf("the database cannot be reached: %w", err)
	}
	switch {
	case have > want:
		return fmt.Errorf("the database has schema %d, this program knows up to %d: use a newer taskyard; nothing was changed", have, want)
	case have == want:
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// stamp is the time of the database, as far as it is known.
func (pg *pgStore) stamp() task.Time {
	if pg.now != nil {
		return task.TimeFromStd(pg.now())
	}
	return task.TimeFromStd(time.Now()) + task.Time(pg.behind.Load())
}

// begin begins the transaction of a batch, as soon as no other server has one,
// and returns the time of the database.
func (pg *pgStore) begin(w *writer) (task.Time, error) {
	if w.c.broken() || pg.primaries.isFormer(w.c) {
		c, err := pg.connect(background, false)
		if err != nil {
			return 0, err
		}
		w.use(c)
	}
	at, err := pg.lock(w)
	if err != nil {
		w.rollback()
		return 0, err
	}
	if pg.now != nil {
		return task.TimeFromStd(pg.now()), nil
	}
	pg.behind.Store(int64(at - task.TimeFromStd(time.Now())))
	return at, nil
}

// afterLock reads what a batch has to know before it begins: the time, the hash
// of the log's last line, and the last ids.
const afterLock = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT), " +
	"(SELECT hash FROM events ORDER BY id DESC LIMIT 1), " +
	"(SELECT seq FROM sequences WHERE name = 'tasks'), (SELECT seq FROM sequences WHERE name = 'events')"

// lock begins a transaction and takes the lock of the writers, in one round trip.
// What is read after the lock is a statement of its own: it has to see what the
// transaction that had the lock before has committed.
func (pg *pgStore) lock(w *writer) (at task.Time, err error) {
	if err := w.c.execDeferred("BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
		return 0, err
	}
	if err := w.c.execDeferred("SELECT CAST(pg_advisory_xact_lock(?) AS TEXT)", int64(pgWriteLock)); err != nil {
		return 0, err
	}
	var ids lastIDs
	if err := (&Rx{c: w.c}).row(afterLock).Scan(&at, &w.tail, &ids.task, &ids.event); err != nil {
		return 0, err
	}
	if w.tail == nil {
		w.tail = []byte{} // the log is empty
	}
	w.counters.ids, w.counters.stored = ids, ids
	return at, nil
}

// commit commits a batch. Where the connection is lost meanwhile, the database
// is asked whether it has the batch.
func (pg *pgStore) commit(w *writer, wrote bool) error {
	if !wrote && w.signals.Empty() {
		return w.c.exec("COMMIT")
	}
	pg.batch++
	// The notification comes with the commit, or never.
	err := w.c.execDeferred("INSERT INTO commits (writer, batch, at) "+
		"VALUES (?, ?, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)) "+
		"ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, at = excluded.at "+
		"RETURNING CAST(pg_notify('"+signalsChannel+"', ?) AS TEXT)", pg.name, pg.batch, pg.payload(w.signals))
	if err != nil {
		return err
	}
	err = w.c.exec("COMMIT")
	if err == nil || !w.c.broken() {
		return err
	}
	for again := range pgRetries {
		done, e := pg.committed(w)
		if e == nil {
			if done {
				return nil
			}
			return err
		}
		pg.pause(w.db.stop, again)
	}
	return errUnknown("the connection to the database was lost while it was written (" + err.Error() + ")")
}

// committed reports whether the database has the last batch. It waits until the
// transaction of that has ended.
func (pg *pgStore) committed(w *writer) (bool, error) {
	if _, err := pg.begin(w); err != nil {
		return false, err
	}
	defer w.rollback()
	var last int64
	_, err := optional((&Rx{c: w.c}).row("SELECT batch FROM commits WHERE writer = ?", pg.name).Scan(&last))
	return last == pg.batch, err
}

// lost reports whether an error is that of a connection or a cancellation, so that
// nothing was written and the batch can be tried again.
func (pg *pgStore) lost(err error) bool {
	var known *task.Error
	return pg != nil && err != nil && !errors.As(err, &known) && (isLost(err) || isCanceled(err))
}

// isCanceled reports whether a statement was canceled: a search by its limit, any
// other one by a person with pg_cancel_backend.
func isCanceled(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "57014"
}

// isLost reports whether an error ends a connection, or refuses a new one.
func isLost(err error) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pe.Code {
		case "57P01", "57P02", "57P03", "25P03", "25P04", "53300", "40001", "40P01", "25006", "55P03":
			// It stops, starts, ended our session, has no room for one, is a
			// standby, or somebody else was in the way.
			return true
		}
		return false
	}
	return isNetwork(err)
}

// pause waits before a further try, longer each time, up to 4 s.
func (pg *pgStore) pause(stop <-chan struct{}, again int) {
	select {
	case <-time.After(min(50*time.Millisecond<<again, 4*time.Second)):
	case <-stop:
	}
}

// use makes the writer use another connection.
func (w *writer) use(c *conn) {
	_ = w.c.Close() // it is broken, or that of a former primary
	w.c = c
	c.keepChecked()
	w.counters.c = c
}

// liveConn returns the connection, or another one where that of PostgreSQL is gone or
// leads to a former primary: one that was not used for a second is asked first.
func (d *DB) liveConn(c *conn) (*conn, error) {
	s, ok := c.c.(*pgSession)
	if !ok {
		return c, nil
	}
	lastUsed := s.used
	if s.used = time.Now(); !s.c.IsClosed() && !d.pg.primaries.isFormer(c) &&
		(s.used.Sub(lastUsed) < time.Second || s.c.Ping(background) == nil) {
		return c, nil
	}
	for again := 0; ; again++ {
		fresh, err := d.openReader()
		switch {
		case err == nil:
			_ = c.Close()
			return fresh, nil
		case again == readRetries || !isLost(err):
			return c, err
		}
		d.pg.pause(d.stop, again)
	}
}

// readRetries is how often a read tries to get a connection again: 3 s together.
const readRetries = 5

// explainPostgres is explain for the errors of PostgreSQL.
func (d *DB) explainPostgres(err error) error {
	if _, ok := errors.AsType[*task.Error](err); ok {
		return err
	}
	if isCanceled(err) {
		return errSearchTooLong()
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "53100" {
		e := task.Errorf(task.Full, task.CodeDiskFull, "The disk of the database is full; nothing was written, reads continue")
		d.setFault(causeDisk, e)
		return e
	}
	if !isLost(err) {
		return err
	}
	e := task.Errorf(task.Unavailable, task.CodeUnavailable, "The database cannot be reached; try again in a moment")
	if d.setFault(causeDisk, e) { // only the log has the address of the database
		d.log.Error("the database cannot be reached", "reason", err)
	}
	return e
}

// isNetwork reports whether an error is one of the connection.
func isNetwork(err error) bool {
	var ce *pgconn.ConnectError
	var ne net.Error
	return errors.As(err, &ce) || errors.As(err, &ne) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// raiseID lets the next row of a table have an id above one that was named.
// SQLite sees to that itself.
func (tx *Tx) raiseID(table string, id task.ID) error {
	if !tx.c.postgres() {
		return nil
	}
	if table == "tasks" {
		tx.counters.ids.task = max(tx.counters.ids.task, id)
		return nil
	}
	return tx.do("UPDATE sequences SET seq = max(seq, ?) WHERE name = ?", id, table)
}

// writeIDs stores the ids that were given.
func (n *counters) writeIDs() error {
	if n.ids.task != n.stored.task {
		if err := n.c.execDeferred("UPDATE sequences SET seq = ? WHERE name = 'tasks'", n.ids.task); err != nil {
			return err
		}
	}
	if n.ids.event != n.stored.event {
		if err := n.c.execDeferred("UPDATE sequences SET seq = ? WHERE name = 'events'", n.ids.event); err != nil {
			return err
		}
	}
	n.stored = n.ids
	return nil
}
