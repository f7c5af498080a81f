package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/task"
)

// conn is one SQLite connection with its prepared statements, kept for life.
type conn struct {
	c       driver.Conn
	stmts   map[string]*stmt
	checked *checked // nil on a connection that only reads
}

func newConn(dsn string) (*conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	if err := addWordsFit(c.(*sqlite3.SQLiteConn)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{c: c, stmts: make(map[string]*stmt, 64)}, nil
}

// keepFiles makes the connection leave the -wal and the -shm in place when it
// is the last one to close, so that the next start needs no room on the disk.
func (c *conn) keepFiles() error {
	if err := c.c.(*sqlite3.SQLiteConn).SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1); err != nil {
		return err
	}
	// With any limit closing empties the log, which would otherwise be replayed
	// into whatever file takes the place of the database. This one is never met.
	return c.exec("PRAGMA journal_size_limit = 1099511627776")
}

// keepUndo keeps in memory what undoes a statement that fails. SQLite takes 64
// KiB at a time for it else, and a file beyond, for each statement of triggers:
// a third of the time of a create. The driver has no such parameter.
func (c *conn) keepUndo() error { return c.exec("PRAGMA temp_store = MEMORY") }

// Close closes the connection with its statements.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// background is the context of every statement: a context that ends inside a
// transaction would make the driver roll it back silently, and cancellable
// contexts cost a goroutine a statement.
var background = context.Background()

// onPrepare, set only by tests, is told every statement once a connection.
var onPrepare func(q string)

func (c *conn) stmt(q string) (*stmt, error) {
	if s := c.stmts[q]; s != nil {
		if s.changesAccess && c.checked != nil {
			c.checked.forget()
		}
		return s, nil
	}
	text := q
	if !c.postgres() {
		text = hideLimit(q)
	}
	p, err := c.c.Prepare(text)
	if err != nil {
		return nil, err
	}
	if onPrepare != nil {
		onPrepare(q)
	}
	c.stmts[q] = &stmt{s: p.(prepared), changesAccess: changesAccess(q)}
	return c.stmt(q)
}

// hideLimit hides the argument of LIMIT from SQLite, which would prepare a
// statement again each time that another is bound, to plan for that number: a
// list of tasks takes 60 µs to prepare, more than a page of it to read.
func hideLimit(q string) string { return strings.ReplaceAll(q, "LIMIT ?", "LIMIT +?") }

func (c *conn) exec(q string) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	_, err = s.exec(nil)
	return err
}

// Rx reads. Its methods are the queries.
type Rx struct {
	c      *conn
	Now    task.Time // the time of this read or transaction
	ctx    context.Context
	budget *task.AnswerBudget // of each list, or nil
	found  *lastSearch        // nil in a write, whose own changes may decide

	counters *counters // of the transaction that it reads in, or nil
}

// bounded returns an Rx for queries whose cost the caller's words decide: they
// end after 5 s instead of holding a reader.
func (rx *Rx) bounded() (*Rx, context.CancelFunc) {
	r := *rx
	ctx, cancel := context.WithTimeout(background, 5*time.Second)
	r.ctx = ctx
	return &r, cancel
}

// query asks for rows; an error is that of the rows.
func (rx *Rx) query(q string, args ...any) *rows {
	s, err := rx.c.stmt(q)
	if err != nil {
		return &rows{err: err}
	}
	ctx := rx.ctx
	if ctx == nil {
		ctx = background
	}
	return s.query(ctx, args)
}

func (rx *Rx) row(q string, args ...any) rowScanner { return oneRow{rx.query(q, args...)} }

type rowScanner interface{ Scan(dest ...any) error }

// collect returns what scan makes of each row.
func collect[T any](rows *rows, scan func(rowScanner) (T, error)) ([]T, error) {
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// each calls scan with every row.
func each(rows *rows, scan func(rowScanner) error) error {
	return eachWhile(rows, func(r rowScanner) (bool, error) { return true, scan(r) })
}

// eachWhile calls scan with the rows until it returns false.
func eachWhile(rows *rows, scan func(rowScanner) (more bool, err error)) error {
	defer rows.Close()
	for rows.Next() {
		if more, err := scan(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// collectMap returns the keys and values that scan makes of the rows.
func collectMap[K comparable, V any](rows *rows, scan func(rowScanner) (K, V, error)) (map[K]V, error) {
	m := map[K]V{}
	err := each(rows, func(r rowScanner) error {
		k, v, err := scan(r)
		m[k] = v
		return err
	})
	return m, err
}

// column scans rows of one column.
func column[T any](r rowScanner) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// within is collect of a list whose end a cursor marks: it stops before the
// row that is over the budget of the answer. cut reports whether it did.
func within[T interface{ JSONBytes() int }](rx *Rx, rows *rows, scan func(rowScanner) (T, error)) (list []T, cut bool, _ error) {
	defer rows.Close()
	rx.budget.Begin()
	list = []T{}
	for n := 0; rows.Next(); {
		v, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		if n += v.JSONBytes(); len(list) > 0 && !rx.budget.Fits(n) {
			return list, true, nil
		}
		list = append(list, v)
	}
	return list, false, rows.Err()
}

// optional turns "no row" into ok=false.
func optional(err error) (ok bool, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// nilIfNoRow turns "no row" into nil.
func nilIfNoRow[T any](v *T, err error) (*T, error) {
	if ok, err := optional(err); !ok {
		return nil, err
	}
	return v, nil
}

// okIfRow turns "no row" into ok=false.
func okIfRow[T any](v T, err error) (_ T, ok bool, _ error) {
	ok, err = optional(err)
	return v, ok, err
}

// count scans one number.
func (rx *Rx) count(q string, args ...any) (int, error) {
	var n int
	err := rx.row(q, args...).Scan(&n)
	return n, err
}

// nullZero stores zero as NULL.
func nullZero[T ~int | ~int64](v T) any {
	if v == 0 {
		return nil
	}
	return int64(v)
}
