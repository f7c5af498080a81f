package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"taskyard/task"
)

// conn is one SQLite connection with its prepared statements, kept for life.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: make(map[string]*sql.Stmt, 64)}, nil
}

// Close gives the connection back, with its statements.
func (c *conn) Close() {
	for _, s := range c.stmts {
		s.Close()
	}
	c.c.Close()
}

// bg is the context of every statement: a context that ends inside a
// transaction would make the driver roll it back silently, and cancellable
// contexts cost a goroutine a statement.
var bg = context.Background()

// onPrepare, set by tests alone, is told every statement once a connection.
var onPrepare func(q string)

func (c *conn) stmt(q string) (*sql.Stmt, error) {
	if s := c.stmts[q]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(bg, q)
	if err != nil {
		return nil, err
	}
	if onPrepare != nil {
		onPrepare(q)
	}
	c.stmts[q] = s
	return s, nil
}

func (c *conn) exec(q string) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(bg)
	return err
}

// Rx reads. Its methods are the queries.
type Rx struct {
	c   *conn
	Now task.Time // the time of this read or transaction
	ctx context.Context
}

// bound returns the context for a query whose cost the caller's words decide:
// such a query ends after a few seconds instead of holding a reader.
func bound(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(bg, limit)
}

func (rx *Rx) query(q string, args ...any) (*sql.Rows, error) {
	s, err := rx.c.stmt(q)
	if err != nil {
		return nil, err
	}
	ctx := rx.ctx
	if ctx == nil {
		ctx = bg
	}
	return s.QueryContext(ctx, args...)
}

func (rx *Rx) row(q string, args ...any) rowScanner {
	s, err := rx.c.stmt(q)
	if err != nil {
		return errRow{err}
	}
	return s.QueryRowContext(bg, args...)
}

type rowScanner interface{ Scan(dest ...any) error }

type errRow struct{ err error }

func (r errRow) Scan(...any) error { return r.err }

// collect scans every row with fn.
func collect[T any](rows *sql.Rows, err error, scan func(rowScanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
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

// optional turns "no row" into ok=false.
func optional(err error) (ok bool, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// count scans one number.
func (rx *Rx) count(q string, args ...any) (int, error) {
	var n int
	err := rx.row(q, args...).Scan(&n)
	return n, err
}

// nz stores zero as NULL.
func nz[T ~int | ~int64](v T) any {
	if v == 0 {
		return nil
	}
	return int64(v)
}
