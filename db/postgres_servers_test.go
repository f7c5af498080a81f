package db_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// lead tries to make the server with an ID the leader.
func lead(t *testing.T, d *db.DB, id string) (leads, did bool) {
	t.Helper()
	write(t, d, func(tx *db.Tx) (err error) {
		leads, did, err = tx.Lead(id, time.Minute)
		return err
	})
	return leads, did
}

func TestOneServerLeads(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	clock := testkit.NewClock()
	d := dbtest.New(t, func(o *db.Options) { o.Now = clock.Now })
	checkLead := func(what, id string, leads, did bool) {
		t.Helper()
		l, was := lead(t, d, id)
		equal(t, what+": leads", l, leads)
		equal(t, what+": did", was, did)
	}
	checkLead("the first", "a", true, false)
	checkLead("the second", "b", false, false)
	clock.Forward(50 * time.Second)
	checkLead("the first again", "a", true, true)
	clock.Forward(50 * time.Second)
	checkLead("the second, while the first is renewed", "b", false, false)
	clock.Forward(20 * time.Second)
	checkLead("the second, once the first is silent", "b", true, false)
	checkLead("the first, too late", "a", false, false)
	write(t, d, func(tx *db.Tx) error { return tx.Resign("b") })
	checkLead("the first, after the second resigned", "a", true, false)
}

// A server that loses leadership during its work can no longer write.
func TestWritesOfAFormerLeaderAreRefused(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	clock := testkit.NewClock()
	d := dbtest.New(t, func(o *db.Options) { o.Now = clock.Now })
	lead(t, d, "a")
	asA := db.AsLeader(context.Background(), "a")
	add := func(title string) error {
		return d.Write(asA, func(tx *db.Tx) error { _, err := newTask(tx, title); return err })
	}
	ok(t, add("while it leads"))
	clock.Forward(2 * time.Minute)
	if err := add("after its lease"); !task.IsCode(err, task.CodeUnavailable) {
		t.Errorf("got error %v", err)
	}
	lead(t, d, "b")
	if err := add("after another one took over"); !task.IsCode(err, task.CodeUnavailable) {
		t.Errorf("got error %v", err)
	}
	equal(t, "tasks", count(t, d, "SELECT count(*) FROM tasks"), 1)
}

// listenForSignals returns the signals that a database receives from other servers until the
// test ends.
func listenForSignals(t *testing.T, d *db.DB) <-chan *task.Signals {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	signals, done := make(chan *task.Signals, 1000), make(chan struct{})
	go func() {
		defer close(done)
		d.Listen(ctx, func(n *task.Signals) { signals <- n })
	}()
	t.Cleanup(func() { cancel(); <-done })
	if n := <-signals; !n.All {
		t.Errorf("first signals: got %+v, want All", n)
	}
	return signals
}

func TestServersHearEachOthersChanges(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	address := dbtest.PostgresURL(t, t.Name())
	a, b := beside(t, address), beside(t, address)
	signals := listenForSignals(t, b)
	announce := func(n *task.Signals) {
		t.Helper()
		write(t, a, func(tx *db.Tx) error { tx.Announce(n); _, err := newTask(tx, "one"); return err })
	}
	announce(&task.Signals{Topics: []string{"task:1", "events"}, Freed: []string{"coder"}, Queued: true})
	n := <-signals
	equal(t, "topics", strings.Join(n.Topics, " "), "task:1 events")
	equal(t, "freed", strings.Join(n.Freed, " "), "coder")
	equal(t, "queued", n.Queued, true)

	t.Run("a rolled-back change is not sent", func(t *testing.T) {
		err := a.Write(t.Context(), func(tx *db.Tx) error {
			tx.Announce(&task.Signals{Topics: []string{"never"}})
			return context.Canceled
		})
		if err == nil {
			t.Fatal("the write succeeded")
		}
		announce(&task.Signals{Topics: []string{"after"}})
		equal(t, "topics", strings.Join((<-signals).Topics, " "), "after")
	})
	t.Run("too much for a notification", func(t *testing.T) {
		announce(&task.Signals{Topics: []string{strings.Repeat("x", 9000)}})
		equal(t, "all", (<-signals).All, true)
	})
	t.Run("its own changes are not sent", func(t *testing.T) {
		write(t, b, func(tx *db.Tx) error {
			tx.Announce(&task.Signals{Topics: []string{"own"}})
			_, err := newTask(tx, "two")
			return err
		})
		announce(&task.Signals{Topics: []string{"other"}})
		equal(t, "topics", strings.Join((<-signals).Topics, " "), "other")
	})
	t.Run("after a lost connection", func(t *testing.T) {
		c := raw(t, address)
		_, err := c.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%' OR query LIKE '%FROM commits WHERE writer <>%')")
		ok(t, err)
		equal(t, "all", (<-signals).All, true)
		announce(&task.Signals{Topics: []string{"again"}})
		equal(t, "topics", strings.Join((<-signals).Topics, " "), "again")
	})
}

// A server whose folders contain the files of a task continues the task while that
// server is alive; afterwards any server does.
func TestRunsStayWithTheServerThatHasTheirFolder(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	clock := testkit.NewClock()
	d := dbtest.New(t, func(o *db.Options) { o.Now = clock.Now })
	run := func(id task.ID) (r *task.Run) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { r, err = rx.Run(id); return err }))
		return r
	}
	next := func(server string) (r *task.Run) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { r, err = rx.NextQueued("coder", server, false); return err }))
		return r
	}
	queue := func(tk, parent task.ID) (id task.ID) {
		t.Helper()
		write(t, d, func(tx *db.Tx) (err error) {
			r := &task.Run{
				TaskID: tk, ParentRun: parent, Agent: "coder", Status: task.RunPending, Phase: task.PhaseQueued,
				Cause: task.CauseManual, Attempt: 1, Session: "s",
			}
			if id, err = tx.InsertRun(r); err != nil {
				return err
			}
			return tx.KeepServers(id)
		})
		return id
	}
	write(t, d, func(tx *db.Tx) error {
		if err := tx.SeeServer(task.Server{ID: "a"}); err != nil {
			return err
		}
		return tx.SeeServer(task.Server{ID: "b"})
	})
	var tk task.ID
	write(t, d, func(tx *db.Tx) (err error) { tk, err = newTask(tx, "one"); return err })
	first := queue(tk, 0)
	equal(t, "server of the first run", run(first).Server, "")
	write(t, d, func(tx *db.Tx) error {
		r := *run(first)
		r.Spec, r.Server = &task.Spec{}, "a"
		if done, err := tx.StartRun(&r, 1, time.Minute); err != nil || !done {
			t.Errorf("the run was not started: %v", err)
		}
		return nil
	})
	var child task.ID
	write(t, d, func(tx *db.Tx) (err error) { child, err = newTask(tx, "two"); return err })
	delegated := queue(child, first)
	equal(t, "server of a run that it delegated", run(delegated).Server, "a")
	write(t, d, func(tx *db.Tx) error {
		stopped := task.State{Status: task.RunCanceled, Phase: task.PhaseBy}
		if _, err := tx.EndRun(run(delegated), stopped, "", "", nil, task.Usage{}); err != nil {
			return err
		}
		now, err := tx.Run(first)
		if err != nil {
			return err
		}
		_, err = tx.EndRun(now, task.State{Status: task.RunFailed, Phase: task.PhaseError}, "", "", nil, task.Usage{})
		return err
	})
	second := queue(tk, 0)
	equal(t, "server of the second run", run(second).Server, "a")
	if next("b") != nil {
		t.Error("another server took the run")
	}
	equal(t, "a takes it", next("a") != nil, true)

	clock.Forward(time.Minute)
	write(t, d, func(tx *db.Tx) error {
		if err := tx.SeeServer(task.Server{ID: "b"}); err != nil {
			return err
		}
		return tx.DropServers(20 * time.Second)
	})
	var stranded []*task.Run
	ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { stranded, err = rx.Stranded(); return err }))
	equal(t, "stranded", len(stranded), 1)
	write(t, d, func(tx *db.Tx) error { _, err := tx.LeaveServer(stranded[0]); return err })
	r := next("b")
	equal(t, "b takes it", r != nil && r.ID == second, true)
	equal(t, "its conversation", r.Session, "")
}

// servers performs the statements of servers that share a database.
func servers(t *testing.T, d *db.DB) {
	if !d.Shared() {
		return
	}
	ok(t, d.Write(context.Background(), func(tx *db.Tx) error {
		_, _, lead := tx.Lead("here", time.Minute)
		_, _, again := tx.Lead("here", time.Minute)
		_, list := tx.Servers()
		_, stranded := tx.Stranded()
		_, gone := tx.IsStranded("there")
		_, left := tx.LeaveServer(&task.Run{})
		_, waits := tx.RunWaits(1)
		return errors.Join(tx.SeeServer(task.Server{ID: "here"}), lead, again, list, stranded, gone, left, waits, tx.SetRunWaits(1<<40, nil),
			tx.ShiftServers(time.Second), tx.DropServers(time.Minute), tx.KeepServers(1<<40))
	}))
	ok(t, d.Write(db.AsLeader(context.Background(), "here"), func(tx *db.Tx) error { return tx.Resign("here") }))
}
