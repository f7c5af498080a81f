package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/task"
)

const (
	owners = 16 // number of queues; limit.c has the same
	lease  = 2 * time.Hour
)

// work is an operation of the store.
type work string

const (
	claiming work = "claim"  // select, update, event, read with relations
	creating work = "create" // insert, event
)

type storeRow struct {
	work    work
	callers int
	perTx   int    // transaction size of the corresponding limit
	aim     target // of the share of the limit, in per cent
}

// storeRows are the measured operations of the store.
var storeRows = []storeRow{
	{claiming, 1, 1, none},
	{claiming, 64, 64, atLeast(55, 80)},
	{creating, 1, 1, none},
	{creating, 64, 64, atLeast(55, 80)},
}

// store is a database with tasks, and the limit program on the same file. There
// is a copy of the initial file.
type store struct {
	db    *db.DB
	limit *limit
	size  int
	path  string
}

func owner(n int64) string { return fmt.Sprintf("bench-%d", n%owners) }

// recordStatements returns the statements of package db for one create and one claim.
var recordStatements = sync.OnceValues(func() (statements, error) {
	folder, err := os.MkdirTemp("", "taskyard-bench-")
	if err != nil {
		return statements{}, err
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.EvalSymlinks(folder); err != nil { // as SQLite names it
		return statements{}, err
	}
	ctx, opt := context.Background(), db.Options{Path: filepath.Join(folder, "record.db")}
	d, err := db.Open(ctx, opt) // creates the schema, which is not recorded
	if err != nil {
		return statements{}, err
	}
	if err := d.Close(); err != nil {
		return statements{}, err
	}
	texts, err := record(opt.Path, func() error {
		d, err := db.Open(ctx, opt)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := create(ctx, d, 0); err != nil {
			return err
		}
		return claim(ctx, d, 0)
	})
	if err != nil {
		return statements{}, err
	}
	return choose(texts)
})

// chunk is the number of tasks per transaction of a fill.
const chunk = 20_000

// inChunks calls write for 0 to size-1, with many calls per transaction.
func inChunks(ctx context.Context, d *db.DB, size int, write func(tx *db.Tx, n int) error) error {
	return writeChunks(ctx, d, chunk, size, write)
}

func writeChunks(ctx context.Context, d *db.DB, chunk, size int, write func(tx *db.Tx, n int) error) error {
	for done := 0; done < size; done += chunk {
		err := d.Write(ctx, func(tx *db.Tx) error {
			for n := done; n < min(done+chunk, size); n++ {
				if err := write(tx, n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill writes size claimable tasks.
func fill(ctx context.Context, d *db.DB, size int) error {
	return inChunks(ctx, d, size, func(tx *db.Tx, n int) error { return insert(tx, owner(int64(n))) })
}

var description = strings.Repeat("x", 200)

func insert(tx *db.Tx, owner string) error {
	t := newTask(owner)
	t.Steps = []task.Step{{Title: "read"}, {Title: "write"}}
	t.Resources = []task.Resource{{Type: "url", Value: "https://example.org/"}}
	id, err := tx.InsertTask(t)
	if err != nil {
		return err
	}
	_, err = tx.InsertMessage(task.Message{TaskID: id, Kind: task.KindComment, Author: owner, Content: description})
	return err
}

func newTask(owner string) *task.Task {
	return &task.Task{
		Title: "a task of the bench", Description: description, Owner: owner, CreatedBy: owner,
		Status: task.Active, Channel: "web",
	}
}

func create(ctx context.Context, d *db.DB, n int64) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		id, err := tx.InsertTask(newTask(owner(n)))
		if err != nil {
			return err
		}
		return tx.AddEvent(task.Event{Actor: owner(n), Kind: "task.created", TaskID: id})
	})
}

func claim(ctx context.Context, d *db.DB, n int64) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		t, err := tx.ClaimNext(owner(n), nil, lease)
		if err != nil {
			return err
		}
		if t == nil {
			return errEmpty
		}
		return tx.AddEvent(task.Event{Actor: owner(n), Kind: "task.claimed", TaskID: t.ID})
	})
}

// measureStores measures every store row on every database, in rounds: each
// result is compared with what was measured right before or after it.
func measureStores(ctx context.Context, out *sheet, stores []*store, rounds int, d time.Duration) error {
	for round := range rounds {
		var first float64 // claims per second in the smallest database
		for _, s := range stores {
			if round > 0 {
				if err := s.again(ctx); err != nil {
					return err
				}
			}
			for _, spec := range storeRows {
				rate, err := s.measure(ctx, out, spec, d)
				if err != nil {
					return err
				}
				if spec.work != claiming || spec.callers == 1 {
					continue
				}
				if first == 0 {
					first = rate
					continue
				}
				name := fmt.Sprintf("store claim rate at %s tasks to that at %s", number(float64(s.size)), number(float64(stores[0].size)))
				out.add(name, "", atLeast(0.7, 0.9), rate/first)
			}
		}
	}
	return nil
}

// measure measures one row once, with its limit, and returns its rate.
func (s *store) measure(ctx context.Context, out *sheet, spec storeRow, d time.Duration) (float64, error) {
	name := fmt.Sprintf("store %s, %s tasks, %d callers", spec.work, number(float64(s.size)), spec.callers)
	if spec.callers == 1 {
		name = strings.TrimSuffix(name, "s")
	}
	baseline, err := s.laps(d, func(d time.Duration) (lap, error) {
		n, elapsed, err := s.limit.run(spec.work, spec.perTx, d)
		return lap{ops: n, elapsed: elapsed}, err
	})
	if err != nil {
		return 0, fmt.Errorf("limit of %s: %w", name, err)
	}
	ours, err := s.laps(d, func(d time.Duration) (lap, error) { return s.drive(ctx, spec.work, spec.callers, d) })
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	out.add(name, "/s", none, ours.rate())
	out.add(name+": p99", "ms", none, millis(ours.percentile(0.99)))
	out.add(name+": of the C limit", "%", spec.aim, 100*ours.rate()/baseline.rate())
	// If other programs use the machine, this share is more stable.
	out.add(name+": of the C limit by CPU time", "%", none, 100*baseline.cpuEach()/ours.cpuEach())
	return ours.rate(), nil
}

func (s *store) drive(ctx context.Context, w work, callers int, d time.Duration) (lap, error) {
	op := claim
	if w == creating {
		op = create
	}
	return drive(callers, d, func(_ int, n int64) error { return op(ctx, s.db, n) })
}

// laps repeats run until it has worked for d: claims empty the queues, which
// are refilled outside the measured time.
func (s *store) laps(d time.Duration, run func(time.Duration) (lap, error)) (lap, error) {
	var sum lap
	for sum.elapsed < d {
		if err := s.limit.rest(); err != nil {
			return sum, err
		}
		cpu := ownCPU()
		l, err := run(d - sum.elapsed)
		l.cpu = ownCPU() - cpu
		if err != nil {
			return sum, err
		}
		if l.ops == 0 {
			return sum, errEmpty
		}
		sum.add(l)
	}
	return sum, nil
}
