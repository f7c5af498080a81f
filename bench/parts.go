package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskyard/db"
)

// bench is one run of this program.
type bench struct {
	options
	sheet  *sheet
	lap    time.Duration
	stderr io.Writer
	start  time.Time
	folder string // for measured instances; deleted afterwards
}

// queues are the owners in instances that are measured over HTTP: two long
// queues fill the board.
var queues = []string{"bench", "bench-too"}

// parts are measured in this order; slow ones only if they are named.
var parts = []struct {
	name  string
	run   func(*bench, context.Context) error
	named bool
}{
	{"store", (*bench).stores, false},
	{"http", (*bench).http, false},
	{"history", (*bench).history, false},
	{"start", func(b *bench, ctx context.Context) error {
		return measureEmpty(ctx, b.sheet, b.bin, b.folder, b.rounds)
	}, false},
	{"claims", (*bench).claims, false},
	{"waiting", (*bench).waiting, false},
	{"dispatch", (*bench).runs, false},
	{"pages", func(b *bench, ctx context.Context) error { return b.pages(ctx, (*instance).start) }, false},
	{"large", (*bench).large, true},
	{"postgres", (*bench).postgres, true}, // requires the programs of PostgreSQL
	{"postgres-pages", func(b *bench, ctx context.Context) error { return b.pages(ctx, (*instance).moveToPostgres) }, true},
	{"peers", (*bench).peers, true}, // requires these and the module proxy
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// progress prints a line about the progress of the run.
func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.stderr, "%4.0f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// local measures everything on its own servers.
func (b *bench) local(ctx context.Context) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	var err error
	if b.folder, err = os.MkdirTemp(b.dir, "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	// It fails if bench/limit.go is out of step, before anything takes long.
	if _, err := recordStatements(); err != nil {
		return err
	}
	if b.bin == "" {
		b.progress("building the server")
		if b.bin, err = buildServer(ctx, b.folder); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if b.only == "" && p.named || b.only != "" && !slices.Contains(strings.Split(b.only, ","), p.name) {
			continue
		}
		b.progress("%s", p.name)
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// remote measures the HTTP rows on an external server.
func (b *bench) remote() error {
	host, err := checkURL(b.url)
	if err != nil {
		return err
	}
	c := newClient(host, b.token, b.agent, nil, 1)
	// Tasks must be created before they can be claimed.
	var rows []httpRow
	creates := httpRows[len(httpRows)-1]
	for _, r := range httpRows[:len(httpRows)-1] {
		rows = append(rows, creates, r)
	}
	return c.measure(b.sheet, rows, b.rounds, b.lap)
}

func (b *bench) stores(ctx context.Context) (err error) {
	var stores []*store
	defer func() {
		for _, s := range stores {
			err = errors.Join(err, s.close(), removeDatabase(s.path), os.Remove(s.path+".filled"))
		}
	}()
	for _, size := range b.sizes {
		begin := time.Now()
		s, err := openStore(ctx, b.folder, size)
		if err != nil {
			return err
		}
		stores = append(stores, s)
		b.progress("%d tasks written in %.1f s", size, time.Since(begin).Seconds())
	}
	return measureStores(ctx, b.sheet, stores, b.rounds, b.lap)
}

// http measures an instance with many open tasks.
func (b *bench) http(ctx context.Context) error {
	inst, err := newInstance(b.bin, filepath.Join(b.folder, "http"), queues)
	if err != nil {
		return err
	}
	err = inst.fill(ctx, nil, func(d *db.DB) error {
		return inChunks(ctx, d, b.open, func(tx *db.Tx, n int) error { return insert(tx, queues[n%10/9]) }) // most will be claimed
	})
	if err != nil {
		return err
	}
	if _, err := inst.start(ctx); err != nil {
		return err
	}
	return errors.Join(b.onInstance(ctx, inst, func(c *client, token, cookie string) error {
		if err := c.measureBoard(b.sheet, number(float64(b.open))+" open tasks", cookie, b.rounds, b.lap); err != nil {
			return err
		}
		if err := c.measureSession(b.sheet, cookie, b.rounds, b.lap); err != nil {
			return err
		}
		if err := c.measureLive(b.sheet, token, cookie, 10*b.rounds); err != nil {
			return err
		}
		if err := c.measure(b.sheet, httpRows, b.rounds, b.lap); err != nil {
			return err
		}
		return b.memoryAfter(inst)
	}), inst.stop())
}

// memoryAfter records the memory that the server keeps after the load has
// ended.
func (b *bench) memoryAfter(inst *instance) error {
	time.Sleep(idle)
	if err := inst.settle(); err != nil {
		return err
	}
	mib, err := inst.rss()
	b.sheet.add("memory of the server after the HTTP rows", "MiB", none, mib)
	return err
}

// openInArchive is the number of open tasks in addition to the archived ones.
const openInArchive = 1000

// history measures an instance with mostly archived tasks.
func (b *bench) history(ctx context.Context) error {
	begin := time.Now()
	inst, err := newInstance(b.bin, filepath.Join(b.folder, "history"), queues)
	if err != nil {
		return err
	}
	err = inst.fill(ctx, yearBefore(begin, b.archive+openInArchive), func(d *db.DB) error {
		return fillArchive(ctx, d, b.archive, openInArchive, queues)
	})
	if err != nil {
		return err
	}
	b.progress("%d archived tasks written and indexed in %.1f s", b.archive, time.Since(begin).Seconds())
	size := number(float64(b.archive))
	if err := measureRestart(ctx, b.sheet, inst, size+" tasks", b.rounds); err != nil {
		return err
	}
	return errors.Join(b.onInstance(ctx, inst, func(c *client, token, cookie string) error {
		what := fmt.Sprintf("%s open and %s archived tasks", number(openInArchive), size)
		if err := c.measureBoard(b.sheet, what, cookie, b.rounds, b.lap); err != nil {
			return err
		}
		return c.measureSearch(b.sheet, token, b.archive, b.lap)
	}), inst.stop())
}

func (b *bench) onInstance(ctx context.Context, inst *instance, fn func(c *client, token, cookie string) error) error {
	token, err := inst.token(ctx)
	if err != nil {
		return err
	}
	cookie, err := inst.session(ctx, "operator")
	if err != nil {
		return err
	}
	return fn(newClient(inst.addr, token, queues[0], inst, 1000), token, cookie)
}

func (b *bench) runs(ctx context.Context) error {
	runs, ticked := 20, 10_000
	if b.quick {
		runs, ticked = 5, 1000
	}
	if err := measureDispatch(ctx, b.sheet, b.bin, b.folder, runs); err != nil {
		return err
	}
	for range b.rounds {
		if err := measureTick(ctx, b.sheet, b.folder, ticked); err != nil {
			return err
		}
	}
	return measureIndexing(ctx, b.sheet, b.folder, b.rounds, b.lap)
}
