package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// stmt is a prepared statement of one connection. It speaks to the driver
// itself: in database/sql, locks, conversions and the copying of rows took
// as much of a claim's time as SQLite did.
type stmt struct {
	s prepared
	// It may change who is valid or what is paused.
	changesAccess bool

	args []driver.NamedValue
	row  []driver.Value
}

// prepared is a statement of a driver.
type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// bind turns arguments into what the driver takes. The slice is the
// statement's own, refilled at each call.
func (s *stmt) bind(args []any) ([]driver.NamedValue, error) {
	s.args = s.args[:0]
	for i, a := range args {
		v, err := toValue(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s.args, nil
}

// toValue reduces named types such as task.ID to the kinds that SQLite knows.
func toValue(a any) (driver.Value, error) {
	switch v := a.(type) {
	case nil, int64, string, float64, []byte:
		return v, nil
	case int:
		return int64(v), nil
	case bool:
		return v, nil
	}
	switch r := reflect.ValueOf(a); r.Kind() {
	case reflect.Int, reflect.Int64:
		return r.Int(), nil
	case reflect.String:
		return r.String(), nil
	}
	return nil, fmt.Errorf("unsupported type %T", a)
}

func (s *stmt) exec(args []any) (driver.Result, error) {
	v, err := s.bind(args)
	if err != nil {
		return nil, err
	}
	return s.s.ExecContext(background, v)
}

func (s *stmt) query(ctx context.Context, args []any) *rows {
	v, err := s.bind(args)
	if err != nil {
		return &rows{err: err}
	}
	r, err := s.s.QueryContext(ctx, v)
	if err != nil {
		return &rows{err: err}
	}
	if s.row == nil {
		s.row = make([]driver.Value, len(r.Columns()))
	}
	return &rows{r: r, row: s.row}
}

// rows are what a query found, or why it failed; a statement has one at a time.
// Close them after use.
type rows struct {
	r   driver.Rows // nil if the query failed
	row []driver.Value
	err error
}

// Next goes to the next row and reports whether there is one.
func (r *rows) Next() bool {
	if r.err == nil {
		r.err = r.r.Next(r.row)
	}
	return r.err == nil
}

// Err returns why Next found no more rows, or nil if it reached the end.
func (r *rows) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// Close releases the statement.
func (r *rows) Close() error {
	if r.r == nil {
		return nil
	}
	return r.r.Close()
}

// Scan copies the row into pointers, one a column.
func (r *rows) Scan(dest ...any) error {
	if len(dest) != len(r.row) {
		return fmt.Errorf("%d columns scanned into %d places", len(r.row), len(dest))
	}
	for i, d := range dest {
		if err := assign(d, r.row[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign stores a column's value. NULL fits only byte slices: queries name
// what stands for it elsewhere.
func assign(dest any, v driver.Value) error {
	switch v := v.(type) {
	case string:
		switch d := dest.(type) {
		case *string:
			*d = v
			return nil
		case *[]byte:
			*d = []byte(v)
			return nil
		}
		if d := reflect.ValueOf(dest).Elem(); d.Kind() == reflect.String {
			d.SetString(v)
			return nil
		}
	case int64:
		switch d := dest.(type) {
		case *int64:
			*d = v
			return nil
		case *int:
			*d = int(v)
			return nil
		case *bool:
			*d = v != 0
			return nil
		case *float64:
			*d = float64(v)
			return nil
		}
		if d := reflect.ValueOf(dest).Elem(); d.CanInt() {
			d.SetInt(v)
			return nil
		}
	case float64:
		if d, ok := dest.(*float64); ok {
			*d = v
			return nil
		}
	case []byte:
		if d, ok := dest.(*[]byte); ok {
			*d = v
			return nil
		}
	case nil:
		if d, ok := dest.(*[]byte); ok {
			*d = nil
			return nil
		}
	}
	return fmt.Errorf("%T does not fit %T", v, dest)
}

// oneRow is a query that is asked for one row.
type oneRow struct{ rows *rows }

// Scan copies the first row; without one it returns sql.ErrNoRows.
func (r oneRow) Scan(dest ...any) error {
	var err error
	switch {
	case r.rows.Next():
		err = r.rows.Scan(dest...)
	case r.rows.Err() != nil:
		err = r.rows.Err()
	default:
		err = sql.ErrNoRows
	}
	return errors.Join(err, r.rows.Close())
}
