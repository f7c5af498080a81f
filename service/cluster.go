package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"taskyard/db"
	"taskyard/internal/sleep"
	"taskyard/task"
)

// cluster is what a server knows of itself among those that share its database.
// Moments are by the clock of this process.
type cluster struct {
	self    atomic.Pointer[task.Server] // nil: no other server can be there
	leads   atomic.Pointer[time.Time]   // until when, nil: not
	since   atomic.Pointer[time.Time]   // since when it does so, while it does
	seen    atomic.Pointer[time.Time]   // when the database heard of this server last
	others  atomic.Int64
	resumed atomic.Bool // it led when its last process ended, and no other one has led since

	stopping atomic.Bool // whether several can be there or not
}

const (
	seenEvery   = 5 * time.Second
	leaderLease = 15 * time.Second
	// silentLimit is how long a server may be silent before others take over what
	// it did. It stops its runs itself before: at cutOffAfter.
	silentLimit = 20 * time.Second
	cutOffAfter = 15 * time.Second
)

// Join adds this server to those that share the database, if it can be shared.
// It is called once, before any requests are served.
func (s *Service) Join(ctx context.Context, this task.Server) error {
	if !s.db.Shared() {
		return nil
	}
	this.StartedAt = s.Now()
	s.cluster.self.Store(&this)
	return s.CheckClock(ctx)
}

// Follow receives the changes of the other servers, and stops the runs of this one in
// time when it is cut off from the database. It returns when ctx ends.
func (s *Service) Follow(ctx context.Context) {
	if s.cluster.self.Load() == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for cut := false; sleep.For(ctx, time.Second); {
			wasCut := cut
			if cut = s.cluster.isCutOff(s.config().Now()); cut && !wasCut {
				s.log.Error("the database cannot be reached, and other servers may take over the runs of this one: they are stopped")
			}
			if cut {
				s.stopRuns(ErrStopCutOff)
			}
		}
	}()
	s.db.Listen(ctx, func(n *task.Signals) {
		if n.All {
			s.publishAll(ctx)
			return
		}
		s.publishSignals(n)
	})
	<-done
}

// isCutOff reports whether other servers may take over what this one does.
func (c *cluster) isCutOff(now time.Time) bool {
	seen := c.seen.Load()
	return seen != nil && c.others.Load() > 0 && now.Sub(*seen) > cutOffAfter
}

// stopRuns stops all runs of this process.
func (s *Service) stopRuns(cause error) {
	s.stops.Range(func(_, cancel any) bool { cancel.(context.CancelCauseFunc)(cause); return true })
}

// publishAll is publishSignals for whatever may have changed. A run that has lost its lease is
// stopped by its next heartbeat.
func (s *Service) publishAll(ctx context.Context) {
	s.hub.PublishAll()
	s.signal()
	s.waits.wake("")
	s.notifyAllWaits()
	err := s.db.Read(ctx, func(rx *db.Rx) error {
		for c := range s.openCredentials() {
			ok, err := isStillValid(rx, c)
			if err != nil {
				return err
			}
			if !ok {
				s.disconnect(task.Revocation{Token: c.token, User: c.user})
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "failed to check the callers of open calls", "error", err)
	}
}

// serverID is the id of this server in the runs that it executes, "" where no
// other can be there.
func (s *Service) serverID() string {
	if this := s.cluster.self.Load(); this != nil {
		return this.ID
	}
	return ""
}

// Lead returns a context for work that one of the servers does, and whether this
// one is it. What is written with the context after another server took over is
// refused.
func (s *Service) Lead(ctx context.Context) (context.Context, bool) {
	this := s.cluster.self.Load()
	if this == nil {
		return ctx, true
	}
	_, leads := s.LeadsSince()
	return db.AsLeader(ctx, this.ID), leads
}

// LeadsSince returns since when this server does the work that one of several
// does, and whether it does: the zero time where it is the only one.
func (s *Service) LeadsSince() (since time.Time, leads bool) {
	if s.cluster.self.Load() == nil {
		return since, true
	}
	until, from := s.cluster.leads.Load(), s.cluster.since.Load()
	if from == nil || until == nil || !s.config().Now().Before(*until) {
		return since, false
	}
	return *from, true
}

// Resumed reports whether this server was started again before its lease as the
// leader ended, so that no other one did what was due meanwhile.
func (s *Service) Resumed() bool { return s.cluster.resumed.Load() }

// formKeyKey is the setting with the key of the forms.
const formKeyKey = "form_key"

// FormKey returns the key with which a server recognizes forms rendered by
// other servers on its database; nil if there can be no others. Knowing the key
// is not enough to submit a form, which also needs the cookie of the browser
// that it was rendered for.
func (s *Service) FormKey(ctx context.Context) ([]byte, error) {
	if !s.db.Shared() {
		return nil, nil
	}
	key, err := read(ctx, s, func(rx *db.Rx) (string, error) { return rx.Setting(formKeyKey) })
	if err != nil || key != "" {
		return []byte(key), err
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error { // another one may start at the same time
		if key, err = tx.Setting(formKeyKey); err != nil || key != "" {
			return err
		}
		key = rand.Text() + rand.Text()
		return tx.SetSetting(formKeyKey, key)
	})
	return []byte(key), err
}

// BeginStop records that this server is about to stop, which health checks show
// from then on, and reports whether others are there to answer in its place.
func (s *Service) BeginStop(ctx context.Context) (others bool) {
	s.cluster.stopping.Store(true)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list, err := s.Servers(ctx) // some may have come since the last heartbeat
	if err != nil {
		return s.cluster.others.Load() > 0
	}
	return len(list) > 1
}

// Stopping reports whether this server is about to stop.
func (s *Service) Stopping() bool { return s.cluster.stopping.Load() }

// Resign lets another server lead at once. It is called at the end.
func (s *Service) Resign(ctx context.Context) error {
	this := s.cluster.self.Load()
	if this == nil {
		return nil
	}
	s.cluster.leads.Store(nil)
	return s.db.Write(ctx, func(tx *db.Tx) error { return tx.Resign(this.ID) })
}

// Servers returns those that share the database; none where this is the only one
// that can be there.
func (s *Service) Servers(ctx context.Context) ([]task.Server, error) {
	this := s.serverID()
	if this == "" {
		return nil, nil
	}
	list, err := read(ctx, s, func(rx *db.Rx) ([]task.Server, error) { return rx.Servers() })
	for i := range list {
		list[i].This = list[i].ID == this
	}
	return list, err
}

// beat records in the database that this server lives, and learns whether it
// leads. A gap is a time in which no server could: what is due is moved by it.
func (s *Service) beat(ctx context.Context, this task.Server) error {
	var at time.Time // by the clock of this process
	var gaps time.Duration
	var led, leads bool
	var servers int
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		// Not when it began to wait for the database: others see it from tx.Now on.
		at = s.config().Now().Add(-s.Now().Sub(tx.Now))
		last, before, err := readClock(&tx.Rx, tx.Now)
		if err != nil {
			return err
		}
		gaps = before
		if gap := tx.Now.Sub(last); gap > silentLimit || gap < -maxClockGap {
			gaps += gap
			if err := tx.ShiftDue(gap); err != nil {
				return err
			}
			if err := tx.ShiftServers(gap); err != nil {
				return err
			}
			tx.Announce(&task.Signals{All: true})
		}
		if err := tx.SetSetting(clockKey, clockText(tx.Now, gaps)); err != nil {
			return err
		}
		if err := tx.SeeServer(this); err != nil {
			return err
		}
		if leads, led, err = tx.Lead(this.ID, leaderLease); err != nil {
			return err
		}
		if leads {
			if err := tx.DropServers(silentLimit); err != nil {
				return err
			}
		}
		list, err := tx.Servers()
		servers = len(list)
		return err
	})
	if err != nil {
		return err
	}
	if s.cluster.seen.Load() == nil {
		s.cluster.resumed.Store(leads && led)
	}
	now := s.Now()
	s.clockState.latest.Store(&clockReading{now, gaps})
	s.clockState.stored = now
	s.cluster.seen.Store(&at)
	s.cluster.others.Store(int64(servers - 1))
	var until *time.Time
	if leads {
		end := at.Add(leaderLease)
		until = &end
		if last := s.cluster.leads.Load(); last == nil || !at.Before(*last) {
			s.cluster.since.Store(&at)
		}
	}
	s.cluster.leads.Store(until)
	if leads && !led {
		s.log.InfoContext(ctx, "this server leads now", "server", this.ID)
		s.hub.PublishAll() // the loops of the leader begin
		s.signal()
	}
	return nil
}

// ReleaseStranded ends that runs wait for a server that is gone, and returns
// those that it executed: they are lost.
func (s *Service) ReleaseStranded(ctx context.Context) (lost []*task.Run, err error) {
	if s.serverID() == "" {
		return nil, nil
	}
	list, err := read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.Stranded() })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return lost, change(ctx, s, task.SystemActor, func(tx *txn) error {
		lost = nil
		for _, r := range list {
			if r.Status == task.RunRunning {
				lost = append(lost, r)
				continue
			}
			if r.Session != "" { // the agent starts over
				if err := tx.RequeueRunMessages(r.ID); err != nil {
					return err
				}
			}
			if _, err := tx.LeaveServer(r); err != nil {
				return err
			}
			tx.signals.Queued = true
		}
		return nil
	})
}

// clockText is a reading of the clock as the settings have it.
func clockText(at task.Time, gaps time.Duration) string {
	return fmt.Sprintf("%d %d", at, gaps.Milliseconds())
}

// readClock returns the last reading that is stored; without one it is now.
func readClock(rx *db.Rx, now task.Time) (at task.Time, gaps time.Duration, err error) {
	text, err := rx.Setting(clockKey)
	if err != nil || text == "" {
		return now, 0, err
	}
	var ms int64
	if _, err := fmt.Sscanf(text, "%d %d", &at, &ms); err != nil {
		return now, 0, fmt.Errorf("setting %s: %w", clockKey, err)
	}
	return at, time.Duration(ms) * time.Millisecond, nil
}
