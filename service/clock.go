package service

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// clockState knows how time went since the server last looked at its clock, which
// it does every second. A longer gap, or one backwards, means that the server
// was down, stopped or suspended, that it could not write, or that the clock
// was set: nobody could be heard meanwhile.
type clockState struct {
	mu     sync.Mutex
	latest atomic.Pointer[clockReading] // nil: nobody looks
	stored task.Time                    // the last look in the database
	failed task.Time                    // when caughtUp could not store one
}

// clockReading is one reading of the clock.
type clockReading struct {
	at      task.Time
	stopped time.Duration // all gaps until then together
}

// gap is how long nobody was heard between the look and a later moment; 0 when
// the server ran all the while.
func (l clockReading) gap(now task.Time) time.Duration {
	if gap := now.Sub(l.at); gap > maxClockGap || gap < -maxClockGap {
		return gap
	}
	return 0
}

const (
	maxClockGap     = 5 * time.Second // between two looks; more is a gap
	clockRetry      = time.Second     // after one that failed
	clockStoreEvery = 15 * time.Second
	clockKey        = "clock" // of the settings: the last look and all gaps, in ms
)

// CheckClock records that the server runs, and after a gap moves what is due by as
// much: leases and claims in both directions, so that their holders keep the
// time that they had left; after a clock that was set back all other due
// times, so that a retry due in 30 s stays due in 30 s. The first look of a
// process compares with the last of the one before. Call it every second.
func (s *Service) CheckClock(ctx context.Context) error {
	s.clockState.mu.Lock()
	defer s.clockState.mu.Unlock()
	return s.checkClock(ctx)
}

// checkClock is CheckClock; clockState.mu is held.
func (s *Service) checkClock(ctx context.Context) error {
	now := s.Now()
	if this := s.cluster.self.Load(); this != nil {
		last := s.clockState.latest.Load()
		if since := now.Sub(s.clockState.stored); last != nil && last.gap(now) == 0 && since >= 0 && since < seenEvery {
			s.clockState.latest.Store(&clockReading{now, last.stopped})
			return nil
		}
		return s.beat(ctx, *this)
	}
	if s.clockState.latest.Load() == nil {
		if err := s.restoreClock(ctx, now); err != nil {
			return err
		}
	}
	last := s.clockState.latest.Load()
	gap := last.gap(now)
	this := &clockReading{now, last.stopped + gap}
	if since := now.Sub(s.clockState.stored); gap == 0 && since >= 0 && since < clockStoreEvery {
		s.clockState.latest.Store(this)
		return nil
	}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if gap != 0 {
			if err := tx.ShiftDue(gap); err != nil {
				return err
			}
		}
		return tx.SetSetting(clockKey, clockText(now, this.stopped))
	})
	if err != nil {
		return err
	}
	s.clockState.latest.Store(this)
	s.clockState.stored = now
	if gap != 0 {
		s.log.WarnContext(ctx, "the server was stopped or its clock was set: claims and leases are prolonged", "seconds", gap.Seconds())
		s.hub.Publish([]string{"queues", "tasks", "runs", "scheduler", TopicOutbox})
		s.signal()
	}
	return nil
}

// restoreClock loads the last reading of the process before this one.
func (s *Service) restoreClock(ctx context.Context, now task.Time) error {
	last, err := read(ctx, s, func(rx *db.Rx) (*clockReading, error) {
		at, gaps, err := readClock(rx, now)
		return &clockReading{at, gaps}, err
	})
	if err == nil {
		s.clockState.latest.Store(last)
	}
	return err
}

// caughtUp looks before anything is done when the last look is long ago: a
// suspended server must not take leases for over when it wakes. While looks
// cannot be stored, one caller tries and the others continue.
func (s *Service) caughtUp(ctx context.Context) {
	if last := s.clockState.latest.Load(); last == nil || last.gap(s.Now()) == 0 {
		return
	}
	s.clockState.mu.Lock()
	defer s.clockState.mu.Unlock()
	if since := s.Now().Sub(s.clockState.failed); since >= 0 && since < clockRetry {
		return
	}
	if err := s.checkClock(ctx); err != nil && ctx.Err() == nil {
		s.clockState.failed = s.Now()
		s.log.ErrorContext(ctx, "failed to check the clock", "error", err)
	}
}

// AwakeTime is the present moment by a clock that is stopped in the gaps
// that CheckClock finds, also over restarts: what counts idle time goes by it. A
// gap that it has not found yet counts, too.
func (s *Service) AwakeTime() task.Time {
	now, last := s.Now(), s.clockState.latest.Load()
	if last == nil {
		return now
	}
	return now.Add(-last.stopped - last.gap(now))
}
