package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"taskyard/task"
)

// The types of columns, by the numbers that PostgreSQL gives them, and the
// formats of values.
const (
	pgBool, pgBytea, pgInt8, pgInt2, pgInt4, pgOID = 16, 17, 20, 21, 23, 26
	pgFloat4, pgFloat8, pgNumeric                  = 700, 701, 1700

	pgText, pgBinary = 0, 1
)

// pgSession is a connection to PostgreSQL as the statements see it. It speaks
// the protocol itself, with values as text: PostgreSQL reads a number for a
// text and a text for a number then, as SQLite does.
type pgSession struct {
	c    *pgconn.PgConn
	name string    // prefix of the names of statements
	made int       // of them
	used time.Time // when a reader last was given it
	open *pgRows   // the rows that are being read

	deferred deferred
}

// postgres reports whether the connection is one to PostgreSQL.
func (c *conn) postgres() bool {
	_, ok := c.c.(*pgSession)
	return ok
}

// broken reports whether the connection is gone, so that it must be replaced.
func (c *conn) broken() bool {
	s, ok := c.c.(*pgSession)
	return ok && s.c.IsClosed()
}

// aborted reports whether the open transaction can only be rolled back.
func (c *conn) aborted() bool {
	s, ok := c.c.(*pgSession)
	return ok && (s.c.IsClosed() || s.c.TxStatus() == 'E')
}

// Prepare prepares a statement, which is written for SQLite.
func (s *pgSession) Prepare(q string) (driver.Stmt, error) {
	s.free()
	if err := s.flush(); err != nil {
		return nil, err
	}
	s.made++
	text := forPostgres(q)
	d, err := s.c.Prepare(background, s.name+strconv.Itoa(s.made), text, nil)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	p := &pgStmt{s: s, d: d, text: text, formats: make([]int16, len(d.Fields))}
	for i, f := range d.Fields {
		p.columns = append(p.columns, f.Name)
		if f.DataTypeOID == pgBytea {
			p.formats[i] = pgBinary
		}
	}
	return p, nil
}

// Close ends the session.
func (s *pgSession) Close() error {
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	_ = s.c.Close(ctx) // it is gone in any case
	return nil
}

// Begin is not used: transactions are statements.
func (s *pgSession) Begin() (driver.Tx, error) { return nil, errors.ErrUnsupported }

// pgStmt is a prepared statement of a session.
type pgStmt struct {
	s       *pgSession
	d       *pgconn.StatementDescription
	text    string
	columns []string
	formats []int16 // of the columns

	values  [][]byte
	binary  []int16
	scratch []byte
}

func (p *pgStmt) Close() error  { return nil } // ends with its session
func (p *pgStmt) NumInput() int { return len(p.d.ParamOIDs) }

func (p *pgStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }
func (p *pgStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.ErrUnsupported }

// bind encodes the arguments, valid until the next call.
func (p *pgStmt) bind(args []driver.NamedValue) error {
	if len(args) < len(p.d.ParamOIDs) {
		return fmt.Errorf("%d arguments for a statement of %d", len(args), len(p.d.ParamOIDs))
	}
	args = args[:len(p.d.ParamOIDs)] // some statements name the last ones in only one form
	p.values, p.binary, p.scratch = p.values[:0], p.binary[:0], p.scratch[:0]
	for i, a := range args {
		format := int16(pgText)
		var v []byte
		from := len(p.scratch)
		switch x := a.Value.(type) {
		case nil:
			p.values, p.binary = append(p.values, nil), append(p.binary, format)
			continue
		case int64:
			p.scratch = strconv.AppendInt(p.scratch, x, 10)
			v = p.scratch[from:]
		case float64:
			p.scratch = strconv.AppendFloat(p.scratch, x, 'g', -1, 64)
			v = p.scratch[from:]
		case bool:
			p.scratch = strconv.AppendInt(p.scratch, int64(btoi(x)), 10)
			v = p.scratch[from:]
		case string:
			v = []byte(task.CleanText(x)) // searches ask for what no text has
		case []byte:
			if v = x; v == nil {
				v = []byte{}
			}
			if p.d.ParamOIDs[i] == pgBytea {
				format = pgBinary
			}
		default:
			return fmt.Errorf("argument %d: unsupported type %T", i+1, a.Value)
		}
		p.values, p.binary = append(p.values, v), append(p.binary, format)
	}
	return nil
}

// ExecContext runs the statement for its effect.
func (p *pgStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := p.bind(args); err != nil {
		return nil, err
	}
	r, err := p.send(ctx)
	if err != nil {
		return nil, err
	}
	tag, err := r.close()
	return driver.RowsAffected(tag.RowsAffected()), p.explain(err)
}

// explain adds the statement to an error that is of the statement.
func (p *pgStmt) explain(err error) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && (strings.HasPrefix(pe.Code, "22") || strings.HasPrefix(pe.Code, "42")) {
		return fmt.Errorf("%w in %s", err, p.text)
	}
	return err
}

// QueryContext runs the statement for its rows.
func (p *pgStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := p.bind(args); err != nil {
		return nil, err
	}
	r, err := p.send(ctx)
	if err != nil {
		return nil, err
	}
	p.s.open = &pgRows{p: p, r: r}
	return p.s.open, nil
}

// free lets the session run a statement while the rows of another are being
// read: the rest of these is kept in memory.
func (s *pgSession) free() {
	if s.open != nil {
		s.open.buffer()
	}
}

// pgRows are the rows of a query.
type pgRows struct {
	p        *pgStmt
	r        answer
	buffered [][]driver.Value // those that follow, when the session was needed
	err      error            // and why there are no more of them
	done     bool             // nothing is read from the session any more
}

// Columns names the columns.
func (r *pgRows) Columns() []string { return r.p.columns }

// Close releases the session; the rows that are left are read over.
func (r *pgRows) Close() error {
	if r.buffered = nil; r.done {
		return nil
	}
	return r.end()
}

func (r *pgRows) end() error {
	r.done, r.p.s.open = true, nil
	_, err := r.r.close()
	return r.p.explain(err)
}

// buffer reads the rows that are left.
func (r *pgRows) buffer() {
	for {
		row := make([]driver.Value, len(r.p.columns))
		if r.err = r.read(row); r.err != nil {
			return
		}
		r.buffered = append(r.buffered, row)
	}
}

// Next reads a row; io.EOF says that there is none.
func (r *pgRows) Next(dest []driver.Value) error {
	switch {
	case len(r.buffered) > 0:
		copy(dest, r.buffered[0])
		r.buffered = r.buffered[1:]
		return nil
	case r.err != nil:
		return r.err
	case r.done:
		return io.EOF
	}
	return r.read(dest)
}

// read reads a row from the session.
func (r *pgRows) read(dest []driver.Value) error {
	if !r.r.NextRow() {
		if err := r.end(); err != nil {
			return err
		}
		return io.EOF
	}
	for i, b := range r.r.Values() {
		v, err := pgValue(r.p.d.Fields[i].DataTypeOID, b)
		if err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
		dest[i] = v
	}
	return nil
}

// pgValue decodes a value into one of those that SQLite has.
func pgValue(oid uint32, b []byte) (driver.Value, error) {
	if b == nil {
		return nil, nil
	}
	switch oid {
	case pgInt8, pgInt4, pgInt2, pgOID:
		return strconv.ParseInt(string(b), 10, 64)
	case pgBool:
		return int64(btoi(b[0] == 't')), nil
	case pgFloat8, pgFloat4:
		return strconv.ParseFloat(string(b), 64)
	case pgNumeric: // a sum of numbers
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseFloat(string(b), 64)
	case pgBytea:
		return append([]byte{}, b...), nil
	}
	return string(b), nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
