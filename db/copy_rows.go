package db

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"taskyard/task"
)

// rows copies the rows of a table and returns how many there are.
func (d *dbCopy) rows(ctx context.Context, t copyTable) (n int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	columns := strings.Join(t.columns, ", ")
	src := &Rx{c: d.src.c, ctx: ctx}
	rows := src.query("SELECT " + columns + " FROM " + t.quoted() + t.order)
	if d.dst.c.postgres() {
		n, err = d.toPostgres(ctx, "COPY "+quoteName(t.name)+" ("+columns+") FROM STDIN", rows)
	} else {
		n, err = d.toSQLite(ctx, "INSERT INTO "+quoteName(t.name)+" ("+columns+") VALUES (?"+strings.Repeat(", ?", len(t.columns)-1)+")", rows)
	}
	if err != nil {
		cancel()         // else closing reads the rest of the table
		_ = rows.Close() // it is canceled
		return n, err
	}
	return n, rows.Close()
}

// toSQLite inserts the rows one by one.
func (d *dbCopy) toSQLite(ctx context.Context, insert string, rows *rows) (n int, err error) {
	s, err := d.dst.c.stmt(insert)
	if err != nil {
		return 0, err
	}
	args := make([]any, len(rows.row))
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		for i, v := range rows.row {
			args[i] = v
		}
		if _, err := s.exec(args); err != nil {
			return n, fmt.Errorf("row %d: %w", n+1, err)
		}
		n++
	}
	return n, rows.Err()
}

// toPostgres streams the rows as COPY reads them. PostgreSQL checks foreign
// keys at its end, so that the order of rows that reference each other does not
// matter.
func (d *dbCopy) toPostgres(ctx context.Context, q string, rows *rows) (int, error) {
	r := &copyReader{rows: rows}
	_, err := d.dst.c.c.(*pgSession).c.CopyFrom(ctx, r, q)
	n, readErr := r.stop()
	if readErr != nil {
		return n, readErr
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == "23505" { // names that differ only in the case of a letter such as Ö
		err = fmt.Errorf("%w: %s Change one of the two rows in the source first", err, pe.Detail)
	}
	return n, err
}

// copyReader is rows in the text format of COPY.
type copyReader struct {
	mu   sync.Mutex // CopyFrom may return while its reading continues
	rows *rows
	buf  []byte
	from int // what is read of buf
	n    int // rows
	err  error
	over bool
}

// stop ends the reading and returns how many rows were read, and why there were
// no more; nil at their end.
func (r *copyReader) stop() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.n, r.err
}

// Read encodes as many rows as fit.
func (r *copyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from == len(r.buf) {
		r.buf, r.from = r.buf[:0], 0
		for !r.over && len(r.buf) < len(p) {
			if r.over = !r.rows.Next(); r.over {
				r.err = r.rows.Err()
				break
			}
			r.buf = appendCopyRow(r.buf, r.rows.row)
			r.n++
		}
	}
	n := copy(p, r.buf[r.from:])
	r.from += n
	switch {
	case n > 0:
		return n, nil
	case r.err != nil:
		return 0, r.err
	}
	return 0, io.EOF
}

func appendCopyRow(b []byte, row []driver.Value) []byte {
	for i, v := range row {
		if i > 0 {
			b = append(b, '\t')
		}
		switch v := v.(type) {
		case nil:
			b = append(b, `\N`...)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case float64:
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		case []byte:
			b = hex.AppendEncode(append(b, `\\x`...), v)
		case string:
			b = appendCopyText(b, task.CleanText(v)) // SQLite may have what PostgreSQL rejects
		default:
			panic(fmt.Sprintf("db: a column of type %T", v))
		}
	}
	return append(b, '\n')
}

func appendCopyText(b []byte, s string) []byte {
	for {
		i := strings.IndexAny(s, "\\\n\r\t")
		if i < 0 {
			return append(b, s...)
		}
		b = append(append(b, s[:i]...), '\\')
		switch s[i] {
		case '\n':
			b = append(b, 'n')
		case '\r':
			b = append(b, 'r')
		case '\t':
			b = append(b, 't')
		default:
			b = append(b, s[i])
		}
		s = s[i+1:]
	}
}

// verify compares the databases, and runs the checks of an instance on the
// target. Error: the first difference.
func (d *dbCopy) verify(ctx context.Context) error {
	if d.dst.c.postgres() { // the checks would be planned for empty tables else
		if err := d.eachTable("ANALYZE %s"); err != nil {
			return err
		}
	}
	for _, t := range d.tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		q := "SELECT count(*) FROM " + t.quoted()
		have, err := d.src.count(q)
		if err != nil {
			return err
		}
		copied, err := d.dst.count(q)
		if err != nil {
			return err
		}
		if have != copied {
			return fmt.Errorf("table %s has %d rows in the source and %d in the copy", t.name, have, copied)
		}
	}
	if _, err := d.dst.CheckChain(); err != nil {
		return fmt.Errorf("table events: %w", err)
	}
	if err := errors.Join(d.dst.CheckTail(), d.dst.CheckInvariants()); err != nil {
		return fmt.Errorf("the copy is not valid: %w", err)
	}
	return d.dst.checkForeignKeys()
}

// checkForeignKeys looks for rows whose references point nowhere. PostgreSQL
// has checked them.
func (s *copySide) checkForeignKeys() error {
	if s.c.postgres() {
		return nil
	}
	var table string
	found, err := optional(s.row(`SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table))
	if err == nil && found {
		err = fmt.Errorf("table %s: a foreign key points nowhere", table)
	}
	return err
}
