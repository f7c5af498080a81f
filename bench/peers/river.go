package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/mattn/go-sqlite3"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	callers      = 64
	benchWorkers = 2000 // what `river bench` uses

	// schema is River's own schema on PostgreSQL, which is created and dropped.
	schema = "taskyard_bench_peers"
)

type nothingArgs struct {
	N int `json:"n"`
}

func (nothingArgs) Kind() string { return "nothing" }

type nothingWorker struct {
	river.WorkerDefaults[nothingArgs]
}

func (nothingWorker) Work(context.Context, *river.Job[nothingArgs]) error { return nil }

func riverOnPostgres(workers int) func(context.Context, options, string) (row, error) {
	return func(ctx context.Context, o options, _ string) (r row, err error) {
		pool, err := pgxpool.New(ctx, o.postgres)
		if err != nil {
			return r, err
		}
		defer pool.Close()
		exec := func(ctx context.Context, statements ...string) error {
			for _, q := range statements {
				if _, err := pool.Exec(ctx, q); err != nil {
					return fmt.Errorf("%s: %w", q, err)
				}
			}
			return nil
		}
		const drop = "DROP SCHEMA IF EXISTS " + schema + " CASCADE"
		if err := exec(ctx, drop, "CREATE SCHEMA "+schema); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, exec(context.WithoutCancel(ctx), drop)) }()
		l := riverLap{options: o, schema: schema, workers: workers, ready: func() error {
			return exec(ctx, "VACUUM ANALYZE "+schema+".river_job", "CHECKPOINT")
		}}
		return workRiver(ctx, riverpgxv5.New(pool), "PostgreSQL", l)
	}
}

func riverOnSQLite(workers int) func(context.Context, options, string) (row, error) {
	return func(ctx context.Context, o options, dir string) (row, error) {
		db, err := openSQLite(filepath.Join(dir, fmt.Sprintf("river-%d.db", workers)))
		if err != nil {
			return row{}, err
		}
		defer db.Close()
		o.jobs = max(o.jobs/3, 100) // they are inserted individually
		l := riverLap{options: o, workers: workers, ready: func() error {
			_, err := db.ExecContext(ctx, "ANALYZE")
			return err
		}}
		return workRiver(ctx, riversqlite.New(db), "SQLite", l)
	}
}

// openSQLite opens a database as both peers recommend, and syncs each commit.
func openSQLite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

type riverLap struct {
	options
	schema  string
	workers int
	ready   func() error // prepares the filled database
}

func workRiver[T any](ctx context.Context, driver riverdriver.Driver[T], place string, l riverLap) (row, error) {
	log := slog.New(slog.NewTextHandler(l.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: l.schema, Logger: log})
	if err != nil {
		return row{}, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return row{}, err
	}
	list := river.NewWorkers()
	if err := river.AddWorkerSafely(list, nothingWorker{}); err != nil {
		return row{}, err
	}
	client, err := river.NewClient(driver, &river.Config{
		// The defaults are for longer jobs; jobs that do nothing are fetched as
		// often as possible.
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: 20 * time.Millisecond,
		JobTimeout:        -1,
		Logger:            log,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: l.workers}},
		Schema:            l.schema,
		Workers:           list,
	})
	if err != nil {
		return row{}, err
	}
	if err := insertJobs(ctx, client, l.jobs); err != nil {
		return row{}, err
	}
	if err := l.ready(); err != nil {
		return row{}, err
	}
	n, elapsed, took, err := drain(ctx, client, l)
	if err != nil {
		return row{}, err
	}
	operation := fmt.Sprintf("%s, %d workers", place, l.workers)
	return newRow("River", "github.com/riverqueue/river", operation, n, elapsed, took), nil
}

func insertJobs[T any](ctx context.Context, client *river.Client[T], jobs int) error {
	const batch = 5000
	for done := 0; done < jobs; done += batch {
		params := make([]river.InsertManyParams, min(batch, jobs-done))
		for i := range params {
			params[i].Args = nothingArgs{N: done + i}
		}
		if _, err := client.InsertManyFast(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

// drain works jobs until all are completed or the lap is over, and returns how
// many were completed, the time until the last of them, and how long each
// completion took.
func drain[T any](ctx context.Context, client *river.Client[T], l riverLap,
) (n int, elapsed time.Duration, took []time.Duration, err error) {
	// Provide space for all, because events are dropped otherwise.
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: l.jobs, Kinds: []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed},
	})
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return 0, 0, nil, err
	}
	begin, end := time.Now(), time.After(l.lap)
	for over := false; n < l.jobs && !over; {
		select {
		case e := <-events:
			if e == nil || e.Kind != river.EventKindJobCompleted {
				return 0, 0, nil, errors.Join(errors.New("a job failed, or River stopped by itself"), client.Stop(ctx))
			}
			n++
			elapsed = time.Since(begin)
			took = append(took, e.JobStats.CompleteDuration)
		case <-end:
			over = true
		}
	}
	if n == 0 {
		err = errors.New("no job was completed within the lap")
	}
	return n, elapsed, took, errors.Join(err, client.Stop(ctx))
}
