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
	y := &twoServers{instance: newInstance(t, with...)}
	ok(t, y.s.Join(t.Context(), task.Server{ID: "a"}))
	y.b = y.join("b")
	y.follow(y.s)
	y.follow(y.b)
	return y
}

func withWorker(t *testing.T) *twoServers {
	t.Helper()
	y := newTwoServers(t, forGPU)
	y.queueRuns("coder", 1)
	y.leased = y.lease("gpu")
	return y
}

// join starts a server on the database.
func (y *twoServers) join(id string) *Service {
	y.t.Helper()
	s := New(dbtest.Beside(y.t, y.db), testkit.OpenAgents(y.t, y.dir, nil), *y.s.config())
	ok(y.t, s.Join(y.t.Context(), task.Server{ID: id}))
	return s
}

// follow has a server hear of the changes of the other, until the test ends.
func (y *twoServers) follow(s *Service) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Follow(ctx) }()
	y.t.Cleanup(func() { cancel(); <-done })
}

func (y *twoServers) beat(s *Service, known bool, wait time.Duration) bool {
	b, err := s.ReportAlive(y.ctx(), gpuBox, y.leased.RunID, task.Hold{Attempt: y.leased.Attempt, Lease: y.leased.Lease}, known, wait)
	if err != nil {
		y.t.Error(err)
	}
	return b.Waits
}

// waits checks what both servers say of the run.
func (y *twoServers) waits(what string, want bool) {
	y.t.Helper()
	equal(y.t, what+": on a", y.beat(y.s, want, 0), want)
	equal(y.t, what+": on b", y.beat(y.b, want, 0), want)
}

// later lets time pass in which servers live.
func (y *twoServers) later(d time.Duration, alive ...*Service) {
	y.t.Helper()
	for range d / seenEvery {
		y.Forward(seenEvery)
		for _, s := range alive {
			ok(y.t, s.CheckClock(y.ctx()))
		}
	}
}

// The heartbeats of a worker, and the calls of its run, reach any server.
func TestEveryServerKnowsThatARunOfAWorkerWaits(t *testing.T) {
	t.Parallel()
	t.Run("a held heartbeat is answered when another server has the run wait", func(t *testing.T) {
		t.Parallel()
		y := withWorker(t)
		beats := make(chan bool, 1)
		go func() { beats <- y.beat(y.s, false, task.MaxWait) }()
		end := y.b.beginWait(y.leased.RunID)
		equal(t, "when it begins", <-beats, true)
		y.waits("meanwhile", true)
		go func() { beats <- y.beat(y.s, true, task.MaxWait) }()
		end()
		equal(t, "when it ends", <-beats, false)
		y.waits("afterwards", false)
	})
	t.Run("while it waits on two of them, each minute counts once", func(t *testing.T) {
		t.Parallel()
		y := withWorker(t)
		endA := y.s.beginWait(y.leased.RunID)
		y.later(time.Minute, y.s, y.b)
		endB := y.b.beginWait(y.leased.RunID)
		y.later(time.Minute, y.s, y.b)
		endA()
		y.waits("after the first has ended", true)
		y.later(time.Minute, y.s, y.b)
		endB()
		y.waits("after both have ended", false)
		equal(t, "waited", y.run(y.leased.RunID).WaitedMs, 3*time.Minute.Milliseconds())
	})
	t.Run("until the server with the call is gone", func(t *testing.T) {
		t.Parallel()
		y := withWorker(t)
		y.b.beginWait(y.leased.RunID)
		y.later(seenEvery, y.s)
		equal(t, "a moment later", y.beat(y.s, true, 0), true)
		y.later(silentLimit+seenEvery, y.s)
		equal(t, "once it is gone", y.beat(y.s, true, 0), false)
	})
	t.Run("until the server with the call has started again", func(t *testing.T) {
		t.Parallel()
		y := withWorker(t)
		y.b.beginWait(y.leased.RunID)
		y.Forward(time.Second)
		y.join("b")
		equal(t, "on a", y.beat(y.s, true, 0), false)
	})
	t.Run("until it starts again itself", func(t *testing.T) {
		t.Parallel()
		y := withWorker(t)
		y.b.beginWait(y.leased.RunID)
		ok(t, y.s.ReportBack(y.ctx(), gpuBox, y.leased.RunID, task.Hold{Attempt: y.leased.Attempt, Lease: y.leased.Lease}))
		y.leased = y.lease("gpu")
		equal(t, "on a", y.beat(y.s, true, 0), false)
	})
}

// The receiver of a webhook has its run with one server, and calls any.
func TestTheServerOfARunKnowsThatItWaitsOnAnother(t *testing.T) {
	t.Parallel()
	y := newTwoServers(t)
	y.queueRuns("coder", 1)
	id := y.start().Run.ID
	shared := func() (text string) {
		ok(t, dbtest.Raw(t, y.db).QueryRowContext(y.ctx(), "SELECT waits FROM runs WHERE id = "+id.String()).Scan(&text))
		return text
	}
	now, changed := y.s.RunWaits(y.ctx(), id)
	equal(t, "before", now, false)
	end := y.b.beginWait(id)
	<-changed
	now, changed = y.s.RunWaits(y.ctx(), id)
	equal(t, "meanwhile", now, true)
	end()
	<-changed
	now, _ = y.s.RunWaits(y.ctx(), id)
	equal(t, "afterwards", now, false)

	end = y.s.beginWait(id)
	equal(t, "what the database has of a wait on the server of the run", shared(), "")
	end()
}
