package service

import (
	"context"
	"testing"
	"time"

	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// twoServers hear of each other. A worker executes a run for them.
type twoServers struct {
	*instance
	b      *Service
	leased *task.Leased
}

func newTwoServers(t *testing.T, with ...func(*Config)) *twoServers {
	t.Helper()
	if !dbtest.Postgres() {
		t.Skip("several servers need PostgreSQL")
	}
	srv := &twoServers{instance: newInstance(t, with...)}
	ok(t, srv.s.Join(t.Context(), task.Server{ID: "a"}))
	srv.b = srv.join("b")
	srv.follow(srv.s)
	srv.follow(srv.b)
	return srv
}

func withWorker(t *testing.T) *twoServers {
	t.Helper()
	srv := newTwoServers(t, forGPU)
	srv.queueRuns("coder", 1)
	srv.leased = srv.lease("gpu")
	return srv
}

// join starts a server on the database.
func (srv *twoServers) join(id string) *Service {
	srv.t.Helper()
	s := New(dbtest.Beside(srv.t, srv.db), testkit.OpenAgents(srv.t, srv.dir, nil), *srv.s.config())
	ok(srv.t, s.Join(srv.t.Context(), task.Server{ID: id}))
	return s
}

// follow has a server hear of the changes of the other, until the test ends.
func (srv *twoServers) follow(s *Service) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Follow(ctx) }()
	srv.t.Cleanup(func() { cancel(); <-done })
}

func (srv *twoServers) beat(s *Service, known bool, wait time.Duration) bool {
	b, err := s.ReportAlive(srv.ctx(), gpuBox, srv.leased.RunID, task.Hold{Attempt: srv.leased.Attempt, Lease: srv.leased.Lease}, known, wait)
	if err != nil {
		srv.t.Error(err)
	}
	return b.Waits
}

// waits checks what both servers say of the run.
func (srv *twoServers) waits(what string, want bool) {
	srv.t.Helper()
	equal(srv.t, what+": on a", srv.beat(srv.s, want, 0), want)
	equal(srv.t, what+": on b", srv.beat(srv.b, want, 0), want)
}

// later lets time pass in which servers live.
func (srv *twoServers) later(d time.Duration, alive ...*Service) {
	srv.t.Helper()
	for range d / seenEvery {
		srv.Forward(seenEvery)
		for _, s := range alive {
			ok(srv.t, s.CheckClock(srv.ctx()))
		}
	}
}

// The heartbeats of a worker, and the calls of its run, reach any server.
func TestEveryServerKnowsThatARunOfAWorkerWaits(t *testing.T) {
	t.Parallel()
	t.Run("a held heartbeat is answered when another server has the run wait", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		beats := make(chan bool, 1)
		go func() { beats <- srv.beat(srv.s, false, task.MaxWait) }()
		end := srv.b.beginWait(srv.leased.RunID)
		equal(t, "when it begins", <-beats, true)
		srv.waits("meanwhile", true)
		go func() { beats <- srv.beat(srv.s, true, task.MaxWait) }()
		end()
		equal(t, "when it ends", <-beats, false)
		srv.waits("afterwards", false)
	})
	t.Run("while it waits on two of them, each minute counts once", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		endA := srv.s.beginWait(srv.leased.RunID)
		srv.later(time.Minute, srv.s, srv.b)
		endB := srv.b.beginWait(srv.leased.RunID)
		srv.later(time.Minute, srv.s, srv.b)
		endA()
		srv.waits("after the first has ended", true)
		srv.later(time.Minute, srv.s, srv.b)
		endB()
		srv.waits("after both have ended", false)
		equal(t, "waited", srv.run(srv.leased.RunID).WaitedMs, 3*time.Minute.Milliseconds())
	})
	t.Run("until the server with the call is gone", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		srv.later(seenEvery, srv.s)
		equal(t, "a moment later", srv.beat(srv.s, true, 0), true)
		srv.later(silentLimit+seenEvery, srv.s)
		equal(t, "once it is gone", srv.beat(srv.s, true, 0), false)
	})
	t.Run("until the server with the call has started again", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		srv.Forward(time.Second)
		srv.join("b")
		equal(t, "on a", srv.beat(srv.s, true, 0), false)
	})
	t.Run("until it starts again itself", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		ok(t, srv.s.ReportBack(srv.ctx(), gpuBox, srv.leased.RunID, task.Hold{Attempt: srv.leased.Attempt, Lease: srv.leased.Lease}))
		srv.leased = srv.lease("gpu")
		equal(t, "on a", srv.beat(srv.s, true, 0), false)
	})
}

// The receiver of a webhook has its run with one server, and calls any.
func TestTheServerOfARunKnowsThatItWaitsOnAnother(t *testing.T) {
	t.Parallel()
	srv := newTwoServers(t)
	srv.queueRuns("coder", 1)
	id := srv.start().Run.ID
	shared := func() (text string) {
		ok(t, dbtest.Raw(t, srv.db).QueryRowContext(srv.ctx(), "SELECT waits FROM runs WHERE id = "+id.String()).Scan(&text))
		return text
	}
	now, changed := srv.s.RunWaits(srv.ctx(), id)
	equal(t, "before", now, false)
	end := srv.b.beginWait(id)
	<-changed
	now, changed = srv.s.RunWaits(srv.ctx(), id)
	equal(t, "meanwhile", now, true)
	end()
	<-changed
	now, _ = srv.s.RunWaits(srv.ctx(), id)
	equal(t, "afterwards", now, false)

	end = srv.s.beginWait(id)
	equal(t, "what the database has of a wait on the server of the run", shared(), "")
	end()
}
