package service

import (
	"context"
	"testing"
	"time"

	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// twoServers are two servers that hear of each other. A worker executes a run for them.
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

// follow lets a server hear of the other's changes until the test ends.
func (srv *twoServers) follow(s *Service) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Follow(ctx) }()
	srv.t.Cleanup(func() { cancel(); <-done })
}

func (srv *twoServers) beat(s *Service, known bool, wait time.Duration) bool {
	b, err := s.ReportAlive(srv.ctx(), gpuBox, srv.leased.RunID,
		task.LeaseRef{Attempt: srv.leased.Attempt, Lease: srv.leased.Lease}, known, wait)
	if err != nil {
		srv.t.Error(err)
	}
	return b.Waits
}

// wantWaiting checks whether both servers report the run as waiting.
func (srv *twoServers) wantWaiting(what string, want bool) {
	srv.t.Helper()
	equal(srv.t, what+": on a", srv.beat(srv.s, want, 0), want)
	equal(srv.t, what+": on b", srv.beat(srv.b, want, 0), want)
}

// passTime lets time pass while some servers are alive.
func (srv *twoServers) passTime(d time.Duration, alive ...*Service) {
	srv.t.Helper()
	for range d / seenEvery {
		srv.Forward(seenEvery)
		for _, s := range alive {
			ok(srv.t, s.CheckClock(srv.ctx()))
		}
	}
}

// The heartbeats of a worker, and the calls of its run, reach any server.
func TestEveryServerKnowsThatAWorkersRunWaits(t *testing.T) {
	t.Parallel()
	t.Run("a waiting heartbeat returns when the run waits on another server", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		beats := make(chan bool, 1)
		go func() { beats <- srv.beat(srv.s, false, task.MaxWait) }()
		end := srv.b.beginWait(srv.leased.RunID)
		equal(t, "when the wait begins", <-beats, true)
		srv.wantWaiting("meanwhile", true)
		go func() { beats <- srv.beat(srv.s, true, task.MaxWait) }()
		end()
		equal(t, "when the wait ends", <-beats, false)
		srv.wantWaiting("afterwards", false)
	})
	t.Run("while it waits on two servers, each minute counts once", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		endA := srv.s.beginWait(srv.leased.RunID)
		srv.passTime(time.Minute, srv.s, srv.b)
		endB := srv.b.beginWait(srv.leased.RunID)
		srv.passTime(time.Minute, srv.s, srv.b)
		endA()
		srv.wantWaiting("after the first wait", true)
		srv.passTime(time.Minute, srv.s, srv.b)
		endB()
		srv.wantWaiting("after both waits", false)
		equal(t, "waited", srv.run(srv.leased.RunID).WaitedMs, 3*time.Minute.Milliseconds())
	})
	t.Run("until the server with the call is lost", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		srv.passTime(seenEvery, srv.s)
		equal(t, "a moment later", srv.beat(srv.s, true, 0), true)
		srv.passTime(silentLimit+seenEvery, srv.s)
		equal(t, "once it is lost", srv.beat(srv.s, true, 0), false)
	})
	t.Run("until the server with the call restarts", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		srv.Forward(time.Second)
		srv.join("b")
		equal(t, "on a", srv.beat(srv.s, true, 0), false)
	})
	t.Run("until the server restarts itself", func(t *testing.T) {
		t.Parallel()
		srv := withWorker(t)
		srv.b.beginWait(srv.leased.RunID)
		ok(t, srv.s.ReportBack(srv.ctx(), gpuBox, srv.leased.RunID, task.LeaseRef{Attempt: srv.leased.Attempt, Lease: srv.leased.Lease}))
		srv.leased = srv.lease("gpu")
		equal(t, "on a", srv.beat(srv.s, true, 0), false)
	})
}

// A webhook's receiver may call servers other than the one that has its run.
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
	equal(t, "waits in the database for a wait on the run's own server", shared(), "")
	end()
}
