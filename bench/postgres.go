package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"taskyard/db"
	"taskyard/internal/testkit"
)

// pgTasks is the number of claimable tasks in the database: half of them for
// the rows of the store, half for those over HTTP.
const pgTasks = 40_000

// The raw SQL of a claim and a create: the row and a line of the log, in a
// transaction, on as many connections as there are callers. No hashes, no
// rules, no counters.
const (
	rawClaim = `UPDATE raw_tasks SET claim_seq = claim_seq + 1, claim_holder = $1, claim_since = $2,
 claim_expires = $3, resumes = 0, version = version + 1, updated_at = $2
 WHERE id = (SELECT id FROM raw_tasks WHERE owner = $1 AND status = 'active' AND claim_holder IS NULL
 AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = ''
 ORDER BY resumes DESC, priority DESC, created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id`
	rawCreate = `INSERT INTO raw_tasks (title, description, owner, created_by, status, channel, created_at, updated_at)
 VALUES ('a task of the bench', $3, $1, $1, 'active', 'web', $2, $2) RETURNING id`
	rawEvent = "INSERT INTO raw_events (at, actor, kind, task_id, hash) VALUES ($1, $2, $3, $4, '')"
	unclaim  = "UPDATE %s SET claim_holder = NULL, claim_since = NULL, claim_expires = NULL WHERE claim_holder IS NOT NULL"
)

// rawTables are copies of the tables with their checks and indexes, without
// triggers, and with IDs from sequences: those of the store have no gaps, so
// each transaction waits for the previous one.
var rawTables = []string{
	"CREATE TABLE raw_tasks (LIKE tasks INCLUDING ALL)", "CREATE SEQUENCE raw_task_ids CACHE 32",
	"ALTER TABLE raw_tasks ALTER COLUMN id SET DEFAULT nextval('raw_task_ids')",
	"CREATE TABLE raw_events (LIKE events INCLUDING ALL)", "CREATE SEQUENCE raw_event_ids CACHE 32",
	"ALTER TABLE raw_events ALTER COLUMN id SET DEFAULT nextval('raw_event_ids')",
	"INSERT INTO raw_tasks (title, description, owner, created_by, status, channel, created_at, updated_at) " +
		"SELECT title, description, owner, created_by, status, channel, created_at, updated_at FROM tasks",
}

// postgres measures the store on PostgreSQL, and the server on it, relative to
// raw SQL on the same server. It starts one of the installed programs, with
// commits synced to the disk.
func (b *bench) postgres(ctx context.Context) error {
	pg, err := testkit.StartDurablePostgres()
	if err != nil {
		return err
	}
	inst, err := newInstance(b.bin, filepath.Join(b.folder, "postgres"), queues)
	if err != nil {
		return err
	}
	inst.env = []string{"TASKYARD_DATABASE=" + pg.URL}
	d, err := db.Open(ctx, db.Options{URL: pg.URL})
	if err != nil {
		return err
	}
	err = inChunks(ctx, d, pgTasks, func(tx *db.Tx, n int) error {
		if n%2 == 0 {
			return insert(tx, queues[0])
		}
		return insert(tx, owner(int64(n/2)))
	})
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	if err := onPostgres(ctx, pg.URL, rawTables...); err != nil {
		return err
	}
	for range b.rounds {
		if err := b.postgresRound(ctx, pg.URL, inst); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) postgresRound(ctx context.Context, url string, inst *instance) error {
	raw := map[work]float64{}
	for _, w := range []work{claiming, creating} {
		l, err := b.rawLap(ctx, url, w)
		if err != nil {
			return fmt.Errorf("raw %s: %w", w, err)
		}
		raw[w] = l.rate()
		b.sheet.add(fmt.Sprintf("raw SQL %s on PostgreSQL, 64 callers", w), "/s", none, raw[w])
	}
	if err := b.pgStore(ctx, url, raw); err != nil {
		return err
	}
	if err := pgRest(ctx, url); err != nil {
		return err
	}
	if _, err := inst.start(ctx); err != nil {
		return err
	}
	token, err := inst.token(ctx)
	if err == nil {
		c := newClient(inst.addr, token, queues[0], inst, 1)
		var l lap
		if l, _, err = c.lap(64, b.lap, c.claim); err == nil {
			const name = "HTTP claim on PostgreSQL, 64 callers"
			b.sheet.add(name, "/s", none, l.rate())
			b.sheet.add(name+": p99", "ms", none, millis(l.percentile(0.99)))
			b.sheet.add(name+": of raw SQL", "%", atLeast(50, 80), 100*l.rate()/raw[claiming])
			err = b.severalServers(ctx, url, c, token, l.rate())
		}
	}
	return errors.Join(err, inst.stop())
}

// pgStore measures the store rows.
func (b *bench) pgStore(ctx context.Context, url string, raw map[work]float64) error {
	d, err := db.Open(ctx, db.Options{URL: url})
	if err != nil {
		return err
	}
	s := &store{db: d}
	for _, r := range storeRows {
		err = pgRest(ctx, url)
		var l lap
		if err == nil {
			l, err = s.drive(ctx, r.work, r.callers, b.lap)
		}
		if err != nil {
			break
		}
		name := fmt.Sprintf("store %s on PostgreSQL, %d callers", r.work, r.callers)
		b.sheet.add(name, "/s", none, l.rate())
		b.sheet.add(name+": p50", "ms", none, millis(l.percentile(0.5)))
		if r.callers > 1 {
			b.sheet.add(name+": of raw SQL", "%", none, 100*l.rate()/raw[r.work])
		}
	}
	return errors.Join(err, d.Close())
}

func (b *bench) rawLap(ctx context.Context, url string, w work) (lap, error) {
	if err := pgRest(ctx, url); err != nil {
		return lap{}, err
	}
	conns := make([]*pgx.Conn, 64)
	for i := range conns {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return lap{}, err
		}
		defer c.Close(ctx)
		conns[i] = c
	}
	return drive(len(conns), b.lap, func(i int, n int64) error { return rawWork(ctx, conns[i], w, owner(n)) })
}

func rawWork(ctx context.Context, c *pgx.Conn, w work, ownerName string) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		var id int64
		now := time.Now().UnixMilli()
		var row pgx.Row
		if w == claiming {
			row = tx.QueryRow(ctx, rawClaim, ownerName, now, now+lease.Milliseconds())
		} else {
			row = tx.QueryRow(ctx, rawCreate, ownerName, now, description)
		}
		err := row.Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return errEmpty
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, rawEvent, now, ownerName, "task."+string(w), id)
		return err
	})
}

// pgRest releases claimed tasks and removes dead rows.
func pgRest(ctx context.Context, url string) error {
	return onPostgres(ctx, url, fmt.Sprintf(unclaim, "tasks"), fmt.Sprintf(unclaim, "raw_tasks"), "VACUUM ANALYZE", "CHECKPOINT")
}

// moveToPostgres copies the database of an instance to a PostgreSQL that it
// starts, analyzes and indexes its tables, and starts the server on it.
func (inst *instance) moveToPostgres(ctx context.Context) (time.Duration, error) {
	pg, err := testkit.StartDurablePostgres()
	if err != nil {
		return 0, err
	}
	copying := exec.CommandContext(ctx, inst.bin, "db", "copy", "--from", "sqlite:"+filepath.Join(inst.data, "taskyard.db"), "--to", pg.URL)
	if out, err := copying.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	d, err := db.Open(ctx, db.Options{URL: pg.URL})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(catchUp(ctx, d), catchUpOpen(ctx, d), d.Close(), onPostgres(ctx, pg.URL, "VACUUM ANALYZE")); err != nil {
		return 0, err
	}
	inst.env = append(inst.env, "TASKYARD_DATABASE="+pg.URL)
	return inst.start(ctx)
}

// onPostgres runs statements.
func onPostgres(ctx context.Context, url string, statements ...string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	for _, q := range statements {
		if _, err = c.Exec(ctx, q); err != nil {
			break
		}
	}
	return errors.Join(err, c.Close(ctx))
}
