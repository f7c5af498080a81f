package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// blockWriter blocks the writer until release is called.
func blockWriter(t testing.TB, d *db.DB) (release func()) {
	t.Helper()
	entered, gate := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- d.Write(context.Background(), func(*db.Tx) error {
			close(entered)
			<-gate
			return nil
		})
	}()
	<-entered
	return func() {
		t.Helper()
		close(gate)
		ok(t, <-done)
	}
}

// waitQueued waits until n writes are queued behind a blocked writer.
func waitQueued(t testing.TB, d *db.DB, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); d.Metrics().Queued < n; {
		if time.Now().After(deadline) {
			t.Fatalf("got %d queued writes, want %d", d.Metrics().Queued, n)
		}
	}
}

// batch runs writes in one commit and returns their errors.
func batch(t testing.TB, d *db.DB, fns ...func(*db.Tx) error) []error {
	t.Helper()
	release := blockWriter(t, d)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = d.Write(context.Background(), fn) })
		waitQueued(t, d, i+1)
	}
	release()
	wg.Wait()
	return errs
}

func TestGroupCommit(t *testing.T) {
	insert := func(title string) func(*db.Tx) error {
		return func(tx *db.Tx) error { _, err := newTask(tx, title); return err }
	}
	many := func(odd func(*db.Tx) error) []func(*db.Tx) error {
		fns := make([]func(*db.Tx) error, 64)
		for i := range fns {
			fns[i] = insert(fmt.Sprintf("task %d", i))
		}
		fns[31] = odd
		return fns
	}
	for name, c := range map[string]struct {
		odd  func(*db.Tx) error
		want string
	}{
		"an error after a write": {func(tx *db.Tx) error {
			return errors.Join(insert("odd")(tx), errOwn)
		}, "its own error"},
		"an error before any write": {func(*db.Tx) error { return errOwn }, "its own error"},
		"a panic":                   {func(tx *db.Tx) error { _ = insert("odd")(tx); panic("oh") }, "panic in a write: oh"},
		"a broken constraint": {func(tx *db.Tx) error {
			_ = insert("odd")(tx)
			return tx.Exec("INSERT INTO tasks (title) " +
				"VALUES ('x')")
		}, "constraint"},
		"an error after a claim that found nothing": {func(tx *db.Tx) error {
			_ = insert("odd")(tx)
			tk, err := tx.ClaimNext("nobody", nil, time.Hour)
			if tk != nil || err != nil {
				return fmt.Errorf("claimed %v: %w", tk, err)
			}
			return errOwn
		}, "its own error"},
	} {
		t.Run(name+" rolls back only itself among 64", func(t *testing.T) {
			d := dbtest.New(t)
			for i, err := range batch(t, d, many(c.odd)...) {
				if i == 31 {
					errorContains(t, err, c.want)
					continue
				}
				ok(t, err)
			}
			equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 63)
			equal(t, "odd tasks", count(t, d, "SELECT count(*) FROM tasks WHERE title = 'odd'"), 0)
			equal(t, "highest ID", count(t, d, "SELECT max(id) FROM tasks"), 63)
			n, err := checkChain(d)
			ok(t, err)
			equal(t, "lines of the log", n, 63)
		})
	}
	t.Run("64 writes share one commit", func(t *testing.T) {
		d := dbtest.New(t)
		before := d.Metrics()
		for _, err := range batch(t, d, many(insert("last"))...) {
			ok(t, err)
		}
		after := d.Metrics()
		equal(t, "commits", after.Batches-before.Batches, 1)
		equal(t, "writes", after.Writes-before.Writes, 64)
	})
	t.Run("a hook after a commit runs once, and not after a failure", func(t *testing.T) {
		d := dbtest.New(t)
		var mu sync.Mutex
		var ran []string
		note := func(s string, err error) func(*db.Tx) error {
			return func(tx *db.Tx) error {
				tx.After(func() { mu.Lock(); defer mu.Unlock(); ran = append(ran, s) })
				return errors.Join(insert(s)(tx), err)
			}
		}
		batch(t, d, note("a", nil), note("b", errOwn))
		equal(t, "ran", strings.Join(ran, " "), "a")
	})
}

func TestAWriteCanceledInTheQueueWritesNothing(t *testing.T) {
	d := dbtest.New(t)
	t.Run("while it is queued", func(t *testing.T) {
		release := blockWriter(t, d)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			done <- d.Write(ctx, func(tx *db.Tx) error { _, err := newTask(tx, "x"); return err })
		}()
		waitQueued(t, d, 1)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		release()
		makeTask(t, d, "next")
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
	})
	t.Run("before it is queued", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for range 200 {
			err := d.Write(ctx, func(tx *db.Tx) error { _, err := newTask(tx, "y"); return err })
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks WHERE title = 'y'"), 0)
	})
	t.Run("a write in progress is finished", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		ok(t, d.Write(ctx, func(tx *db.Tx) error {
			cancel()
			_, err := newTask(tx, "z")
			return err
		}))
		equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks WHERE title = 'z'"), 1)
	})
}

func TestOperationsAfterClose(t *testing.T) {
	d := dbtest.New(t)
	makeTask(t, d, "x")
	release := blockWriter(t, d)
	done := make(chan error, 1)
	go func() {
		done <- d.Write(context.Background(), func(tx *db.Tx) error { _, err := newTask(tx, "y"); return err })
	}()
	waitQueued(t, d, 1)
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	release()
	t.Run("queued writes are finished", func(t *testing.T) {
		ok(t, <-done)
		ok(t, <-closed)
	})
	t.Run("writes and reads are refused at once", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for name, err := range map[string]error{
			"write":    d.Write(ctx, func(*db.Tx) error { return nil }),
			"read":     d.Read(ctx, func(*db.Rx) error { return nil }),
			"snapshot": d.Snapshot(ctx, func(*db.Rx) error { return nil }),
		} {
			if !task.IsCode(err, task.CodeUnavailable) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestReadsCannotWrite(t *testing.T) {
	d := dbtest.New(t)
	err := d.Read(context.Background(), func(rx *db.Rx) error {
		_, err := rx.Count("INSERT INTO settings VALUES ('a', 'b') RETURNING 1")
		return err
	})
	if !task.IsCode(err, task.CodeUnavailable) { // on PostgreSQL, only a standby returns this error
		t.Errorf("got %v, want %s", err, task.CodeUnavailable)
	}
	equal(t, "settings", count(t, d, "SELECT count(*) FROM settings"), 0)
}

func TestASnapshotSeesOneState(t *testing.T) {
	d := dbtest.New(t)
	makeTask(t, d, "a")
	ok(t, d.Snapshot(context.Background(), func(rx *db.Rx) error {
		before, err := rx.Count("SELECT count(*) FROM tasks")
		ok(t, err)
		makeTask(t, d, "b")
		after, err := rx.Count("SELECT count(*) FROM tasks")
		equal(t, "tasks", after, before)
		return err
	}))
	equal(t, "tasks afterwards", count(t, d, "SELECT count(*) FROM tasks"), 2)
}
