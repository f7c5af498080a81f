package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"maragu.dev/goqite"
)

const goqiteModule = "maragu.dev/goqite"

// goqiteOnSQLite makes callers delete their message and receive the next, like
// finish and claim, until none is left or the lap is over.
func goqiteOnSQLite(ctx context.Context, o options, dir string) (row, error) {
	db, err := openSQLite(filepath.Join(dir, "goqite.db"))
	if err != nil {
		return row{}, err
	}
	defer db.Close()
	schema, err := goqiteSchema(ctx)
	if err != nil {
		return row{}, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return row{}, err
	}
	q := goqite.New(goqite.NewOpts{DB: db, Name: "jobs", Timeout: time.Hour})
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		for range o.jobs {
			if err := q.SendTx(ctx, tx, goqite.Message{Body: []byte("nothing")}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return row{}, err
	}
	var (
		group  sync.WaitGroup
		took   = make([][]time.Duration, callers)
		failed = make([]error, callers)
		begin  = time.Now()
	)
	for i := range callers {
		group.Go(func() { took[i], failed[i] = consume(ctx, db, q, begin.Add(o.lap)) })
	}
	group.Wait()
	elapsed, all := time.Since(begin), slices.Concat(took...)
	if err := errors.Join(failed...); err != nil {
		return row{}, err
	}
	return newRow("goqite", goqiteModule, fmt.Sprintf("SQLite, %d callers", callers), len(all), elapsed, all), nil
}

func consume(ctx context.Context, db *sql.DB, q *goqite.Queue, until time.Time) (took []time.Duration, err error) {
	m, err := q.Receive(ctx)
	for begin := time.Now(); err == nil && m != nil && begin.Before(until); {
		err = inTx(ctx, db, func(tx *sql.Tx) error {
			if err := q.DeleteTx(ctx, tx, m.ID); err != nil {
				return err
			}
			m, err = q.ReceiveTx(ctx, tx)
			return err
		})
		end := time.Now()
		took = append(took, end.Sub(begin))
		begin = end
	}
	return took, err
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// goqiteSchema reads the schema from the module, which does not export it.
func goqiteSchema(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", goqiteModule).Output()
	if err != nil {
		return "", fmt.Errorf("go list, in the folder of this program: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema_sqlite.sql"))
	return string(b), err
}
