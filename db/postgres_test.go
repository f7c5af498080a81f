package db_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// postgresOnly skips a test that needs PostgreSQL if the tests use SQLite.
func postgresOnly(t *testing.T) {
	t.Helper()
	if !dbtest.Postgres() {
		t.Skip("PostgreSQL only")
	}
}

// beside opens a database again, as another process would.
func beside(t *testing.T, url string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Options{URL: url})
	ok(t, err)
	t.Cleanup(func() { ok(t, d.Close()) })
	return d
}

func TestABatchThatPostgreSQLEndsIsWrittenOnce(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	for name, end := range map[string]string{
		"its connection is lost": "SELECT count(*) FROM generate_series(1, 2) WHERE pg_terminate_backend(pg_backend_pid())",
		"it is canceled":         "SELECT count(*) FROM generate_series(1, 1000) WHERE pg_cancel_backend(pg_backend_pid())",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			calls := 0
			write(t, d, func(tx *db.Tx) error {
				if _, err := newTask(tx, "once"); err != nil {
					return err
				}
				if calls++; calls == 1 {
					_, err := tx.Count(end)
					return err
				}
				return nil
			})
			equal(t, "calls", calls, 2)
			equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
			equal(t, "tasks by the counters", count(t, d, "SELECT sum(n) FROM task_counts"), 1)
		})
	}
}

func TestWritesThatWaitForAnotherServerShareACommit(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	d := dbtest.New(t)
	other := dbtest.Beside(t, d)
	writes, free := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		write(t, other, func(*db.Tx) error {
			close(writes)
			<-free
			return nil
		})
	})
	<-writes
	before := d.Metrics()
	add := func() {
		write(t, d, func(tx *db.Tx) error {
			_, err := newTask(tx, "late")
			return err
		})
	}
	all.Go(add)
	testkit.Eventually(t, "the first waits for the other server", func() bool {
		return count(t, d, "SELECT count(*) FROM pg_locks l JOIN pg_database b ON b.oid = l.database "+
			"WHERE l.locktype = 'advisory' AND NOT l.granted AND b.datname = current_database()") == 1
	})
	for range 20 {
		all.Go(add)
	}
	testkit.Eventually(t, "the others are queued", func() bool { return d.Metrics().Queued == 20 })
	close(free)
	all.Wait()
	after := d.Metrics()
	equal(t, "writes", after.Writes-before.Writes, 21)
	equal(t, "commits", after.Batches-before.Batches, 1)
}

// dropper is a proxy between a database and its server. It forwards everything until
// it is armed; then it closes the next connection whose transaction the server has
// committed, before the client gets the response.
type dropper struct {
	armed   atomic.Bool
	dropped atomic.Int64
}

func (p *dropper) listen(t *testing.T, to string) (address string) {
	t.Helper()
	address, start := p.away(t, to)
	start()
	return address
}

// away is like listen, but the address refuses connections until start is called.
func (p *dropper) away(t *testing.T, to string) (address string, start func()) {
	t.Helper()
	u, err := url.Parse(to)
	ok(t, err)
	server, dir := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), t.TempDir()
	u.RawQuery = "host=" + url.QueryEscape(dir)
	return u.String(), func() { p.forward(t, dir, server) }
}

func (p *dropper) forward(t *testing.T, dir, server string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	ok(t, err)
	var running sync.WaitGroup
	t.Cleanup(func() { ln.Close(); running.Wait() })
	running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", server)
			if err != nil {
				c.Close()
				continue
			}
			running.Go(func() { _, _ = io.Copy(s, c); s.Close() })
			running.Go(func() { p.answers(c, s); c.Close() })
		}
	})
}

func (p *dropper) answers(client, server net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := server.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], []byte("COMMIT\x00")) && p.armed.CompareAndSwap(true, false) {
			p.dropped.Add(1)
			server.Close()
			return
		}
		if _, err := client.Write(b[:n]); err != nil {
			return
		}
	}
}

func TestACommitWhoseResponseIsLostIsFound(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	var p dropper
	d := beside(t, p.listen(t, dbtest.PostgresURL(t, t.Name())))
	calls := 0
	p.armed.Store(true)
	write(t, d, func(tx *db.Tx) error {
		calls++
		_, err := newTask(tx, "once")
		return err
	})
	equal(t, "connections that were lost", p.dropped.Load(), 1)
	equal(t, "calls", calls, 1)
	equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
	makeTask(t, d, "another")
	n, err := checkChain(d)
	ok(t, err)
	equal(t, "lines of the log", n, 2)
}

// A follower of the log sees each line once and in order, whichever process wrote
// it.
func TestTheLogOfSeveralProcessesHasNoGaps(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	address := dbtest.PostgresURL(t, t.Name())
	const processes, callers, each = 3, 8, 20
	stop := make(chan struct{})
	var following, writing sync.WaitGroup
	reader := beside(t, address)
	var seen task.ID
	following.Go(func() {
		for {
			ended := false
			select {
			case <-stop: // checked before the read, which then finds everything
				ended = true
			default:
			}
			var list []task.Event
			err := reader.Read(context.Background(), func(rx *db.Rx) (err error) {
				list, err = rx.Events(task.EventFilter{After: seen, Limit: 100})
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range list {
				if e.ID != seen+1 {
					t.Errorf("got line %d after line %d", e.ID, seen)
				}
				seen = e.ID
			}
			if ended && len(list) == 0 {
				return
			}
		}
	})
	for p := range processes {
		d := beside(t, address)
		for c := range callers {
			writing.Go(func() {
				for i := range each {
					err := d.Write(context.Background(), func(tx *db.Tx) error {
						_, err := newTask(tx, fmt.Sprint(p, c, i))
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	writing.Wait()
	close(stop)
	following.Wait()
	equal(t, "lines seen", seen, processes*callers*each)
	n, err := checkChain(reader)
	ok(t, err)
	equal(t, "lines in the chain", n, processes*callers*each)
	ok(t, reader.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
}
