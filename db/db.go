// Package db holds every line of SQL. It offers reads that cannot write and
// writes that are committed in groups by one writer with full durability.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/task"
)

// Options say how a database is opened.
type Options struct {
	Path   string           // the file of SQLite; its folder must exist
	URL    string           // of a database of PostgreSQL, in the place of Path, whose folder then keeps its timeline
	Now    func() time.Time // the clock; nil means time.Now
	Log    *slog.Logger     // nil means slog.Default()
	NoSync bool             // for tests: commits do not wait for the disk
}

// DB is an open database: one writer and a pool of readers. It is safe for
// concurrent use.
type DB struct {
	path    string
	pg      *pgStore // nil: SQLite at path
	noSync  bool
	now     func() time.Time
	log     *slog.Logger
	writer  *writer
	readers *pool
	found   lastSearch
	lists   chan struct{} // a place for each reader that lists may take: others find one free at once
	ident   [len(watched)]inode
	fault   atomic.Pointer[fault]
	rescued atomic.Bool // what deleted files hold is saved
	close   sync.Once
	stop    chan struct{}

	watchEnded chan struct{}
}

// Every setting is in the DSN, so that each connection has it.
// NORMAL would lose acknowledged writes on power loss.
const common = "_busy_timeout=5000&_foreign_keys=on&_recursive_triggers=on&_mutex=no"

func writerDSN(path string, noSync bool) string {
	synchronous := "FULL"
	if noSync {
		synchronous = "OFF"
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_journal_mode=WAL&_synchronous=" + synchronous + "&_txlock=immediate&_cache_size=-32768&" + common
}

func readerDSN(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=ro&_query_only=on&_cache_size=-4096&" + common
}

// Open opens the database at opt.Path, creating it when absent, brings its
// schema up to date (see migrate) and starts the writer. Close it after use.
func Open(ctx context.Context, opt Options) (*DB, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.URL != "" {
		return openPostgres(ctx, opt)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	path, err := resolve(opt.Path)
	if err != nil {
		return nil, err
	}
	// A server that starts and a command beside it may both find an old schema,
	// or none: one opens while the other waits.
	turn, err := lockFolder(ctx, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	d := &DB{path: path, noSync: opt.NoSync, now: opt.Now, log: opt.Log, stop: make(chan struct{}), watchEnded: make(chan struct{})}
	if err := d.start(ctx); err != nil {
		if isDamage(err) {
			err = fmt.Errorf("the database %s is damaged (%w); restore a backup: %s", path, err, howToRestore)
		}
		var se sqlite3.Error
		if errors.As(err, &se) && isFull(se) {
			err = fmt.Errorf("the disk of %s is full (%w): free some space and start again", path, err)
		}
		return nil, err
	}
	return d, nil
}

func (d *DB) start(ctx context.Context) error {
	c, err := newConn(writerDSN(d.path, d.noSync))
	if err != nil {
		return err
	}
	// Before the migration's connection, so that closing that one does not
	// remove the files that a full disk has no room to make again.
	if err := errors.Join(c.keepFiles(), c.keepUndo(), c.touch(), d.identify(), d.migrate(ctx), c.forgetStatistics()); err != nil {
		return errors.Join(err, c.Close())
	}
	return d.serve(c)
}

// serve opens the readers and starts the writer on c, which it closes when that
// fails.
func (d *DB) serve(c *conn) (err error) {
	readers := min(max(4, 2*runtime.NumCPU()), 32)
	d.lists = make(chan struct{}, readers/2)
	// All at once: a connection opened later, on files that somebody has just
	// replaced, would cut the shared index of the others, which ends the process
	// with a bus error, and could not read what the open ones can.
	d.readers, err = newPool(readers, d.openReader)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	d.writer = newWriter(d, c)
	go d.watchFiles()
	return nil
}

// openReader opens a read-only connection.
func (d *DB) openReader() (*conn, error) {
	if d.pg != nil {
		return d.pg.connect(background, true)
	}
	c, err := newConn(readerDSN(d.path))
	if err != nil {
		return nil, err
	}
	if err := c.touch(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// touch reads, so that SQLite opens the log, too.
func (c *conn) touch() error {
	rows := (&Rx{c: c}).query("SELECT 1 FROM sqlite_schema WHERE rowid = 1")
	defer rows.Close()
	rows.Next()
	return rows.Err()
}

// forgetStatistics removes what SQLite knows of the sizes of tables, which it would
// plan with. In an instance whose tables were counted when they were nearly empty,
// by a command beside a new server or by a tool, a read of the last lines of the
// log walked over all of it. Without statistics every instance has the plans that
// are tested.
func (c *conn) forgetStatistics() error {
	return errors.Join(c.exec("DROP TABLE IF EXISTS sqlite_stat1"), c.exec("DROP TABLE IF EXISTS sqlite_stat4"))
}

func (d *DB) migrate(ctx context.Context) error {
	w, err := sql.Open("sqlite3", writerDSN(d.path, d.noSync))
	if err != nil {
		return err
	}
	w.SetMaxOpenConns(1)
	return errors.Join(migrate(ctx, w, d.path, d.log), w.Close())
}

// Path returns the absolute path of the database file, or the address of the
// database of PostgreSQL without its password.
func (d *DB) Path() string {
	if d.pg != nil {
		return ShownDatabase(d.pg.url)
	}
	return d.path
}

// Close ends the writer after the queued writes and closes the file.
func (d *DB) Close() error {
	var err error
	d.close.Do(func() {
		close(d.stop)
		<-d.watchEnded
		d.writer.shut()
		err = errors.Join(err, d.readers.shut(), d.writer.c.Close())
	})
	return err
}

// Read runs fn on one read-only connection. Statements of fn each see the
// newest commit; use Snapshot where several must agree.
func (d *DB) Read(ctx context.Context, fn func(*Rx) error) error { return d.read(ctx, false, fn) }

// Snapshot is Read inside one transaction: all statements see one state.
func (d *DB) Snapshot(ctx context.Context, fn func(*Rx) error) error { return d.read(ctx, true, fn) }

var beginSnapshot = storeSQL{"BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}

func (d *DB) read(ctx context.Context, tx bool, fn func(*Rx) error) error {
	budget := task.BudgetFromContext(ctx)
	if budget != nil {
		select {
		case d.lists <- struct{}{}:
			defer func() { <-d.lists }()
		case <-d.stop:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c, err := d.readers.take(ctx, d.stop)
	if err != nil {
		return err
	}
	defer func() { d.readers.give(c) }()
	if c, err = d.liveConn(c); err != nil {
		return d.explain(err)
	}
	rx := &Rx{c: c, Now: d.Now(), budget: budget, found: &d.found}
	if !tx {
		return d.explain(fn(rx))
	}
	if err := c.exec(beginSnapshot.forStore(rx)); err != nil {
		return d.explain(err)
	}
	defer func() {
		if err := c.exec("COMMIT"); err != nil && !c.aborted() {
			d.log.Error("end of read failed", "error", err)
		}
	}()
	return d.explain(fn(rx))
}
