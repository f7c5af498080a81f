package service

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/agentfile"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Delegated runs are executed where the parent's files are.
func TestADelegatedRunStaysWithTheServerOfItsParent(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	ok(t, inst.s.Join(inst.ctx(), task.Server{ID: "a"}))
	_, parent, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	want := ""
	if dbtest.Postgres() {
		want = "a"
	}
	equal(t, "server of the parent", inst.run(parent.Run.ID).Server, want)
	equal(t, "server of the delegated run", inst.run(d.RunID).Server, want)
	if dbtest.Postgres() {
		other := inst.service()
		ok(t, other.Join(inst.ctx(), task.Server{ID: "b"}))
		st, _, err := other.NextRun(inst.ctx(), nil)
		if err != nil || st != nil {
			t.Errorf("another server started %+v, %v", st, err)
		}
	}
	equal(t, "the run that it starts", inst.start().Run.ID, d.RunID)
}

// Servers that start at the same time on one database agree on the form key.
func TestServersShareTheFormKey(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	if !dbtest.Postgres() {
		if key, err := inst.s.FormKey(t.Context()); key != nil || err != nil {
			t.Errorf("single server: got key %q, %v", key, err)
		}
		return
	}
	keys := make([]string, 4)
	var all sync.WaitGroup
	for i := range keys {
		s := inst.service()
		all.Go(func() {
			key, err := s.FormKey(t.Context())
			if err != nil {
				t.Error(err)
			}
			keys[i] = string(key)
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) < 32 || key != keys[0] {
			t.Errorf("got keys %q", keys)
		}
	}
}

// A stopping server knows the servers that joined since its last heartbeat.
func TestAStoppingServerKnowsTheOthers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ok(t, inst.s.Join(t.Context(), task.Server{ID: "first"}))
	equal(t, "others, alone", inst.s.BeginStop(t.Context()), false)
	ok(t, inst.service().Join(t.Context(), task.Server{ID: "second"}))
	equal(t, "others", inst.s.BeginStop(t.Context()), dbtest.Postgres())
	equal(t, "stopping", inst.s.Stopping(), true)
}

// A heartbeat counts from when the database has it, not from when the wait for the
// database began.
func TestAHeartbeatThatWaitedIsAsGoodAsAnother(t *testing.T) {
	t.Parallel()
	inst := ofTwo(t)
	free, holds := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	write := func(beat func() error) {
		all.Go(func() {
			if err := beat(); err != nil {
				t.Error(err)
			}
		})
	}
	write(func() error {
		return dbtest.Beside(t, inst.db).Write(context.Background(), func(*db.Tx) error { close(holds); <-free; return nil })
	})
	<-holds
	raw := dbtest.Raw(t, inst.db)
	inst.Forward(seenEvery)
	write(func() error { return inst.s.CheckClock(context.Background()) })
	testkit.Eventually(t, "the heartbeat waits", func() bool {
		var n int
		err := raw.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks l JOIN pg_database b ON b.oid = l.database "+
			"WHERE l.locktype = 'advisory' AND NOT l.granted AND b.datname = current_database()").Scan(&n)
		return err == nil && n == 1
	})
	inst.Forward(9 * time.Second) // the other server is not silent for too long yet
	close(free)
	all.Wait()
	inst.Forward(cutOffAfter - 8*time.Second)
	equal(t, "cut off", inst.s.cluster.isCutOff(inst.Now()), false)
	_, leads := inst.s.LeadsSince()
	equal(t, "leads", leads, true)
}

// While the configuration is changed on one server after the other, those that lack a
// runner leave its runs to those that have it.
func TestAServerLeavesRunsThatItCannotStart(t *testing.T) {
	t.Parallel()
	inst := ofTwo(t)
	lacking := testkit.OpenAgents(t, inst.dir, &agentfile.Options{Runners: map[string]task.RunnerKind{"other": {}}, DefaultRunner: "other"})
	other := New(inst.db, lacking, *inst.s.config())
	ok(t, other.Join(inst.ctx(), task.Server{ID: "b"}))
	tk := inst.create(maya, "coder")
	r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	st, _, err := other.NextRun(inst.ctx(), nil)
	if err != nil || st != nil {
		t.Fatalf("a server without the runner started %+v, %v", st, err)
	}
	equal(t, "status after the server without the runner looked", inst.run(r.ID).Status, task.RunPending)
	why := must(other.Why(inst.ctx(), maya, tk.ID))
	if text := fmt.Sprint(why); !strings.Contains(text, "this server cannot start it") {
		t.Errorf("the reason is %s", text)
	}
	equal(t, "the run that the other starts", inst.start().Run.ID, r.ID)
}

// What was due while it was down is left to it.
func TestALeaderKnowsThatItWasStartedAgain(t *testing.T) {
	t.Parallel()
	inst := ofTwo(t)
	start := func(id string) *Service {
		s := inst.service()
		ok(t, s.Join(t.Context(), task.Server{ID: id}))
		return s
	}
	equal(t, "the first start resumes", inst.s.Resumed(), false)
	equal(t, "the other server resumes", start("b").Resumed(), false)
	equal(t, "a start within the lease resumes", start("a").Resumed(), true)
	ok(t, inst.s.Resign(t.Context()))
	equal(t, "a start after it resigned resumes", start("a").Resumed(), false)
	inst.Forward(leaderLease + time.Second)
	equal(t, "a start after its lease resumes", start("a").Resumed(), false)
}

// ofTwo is the leader of two servers.
func ofTwo(t *testing.T) *instance {
	t.Helper()
	if !dbtest.Postgres() {
		t.Skip("of several servers")
	}
	inst := newInstance(t)
	ok(t, inst.s.Join(t.Context(), task.Server{ID: "a"}))
	ok(t, inst.service().Join(t.Context(), task.Server{ID: "b"}))
	inst.Forward(seenEvery)
	ok(t, inst.s.CheckClock(t.Context()))
	return inst
}
