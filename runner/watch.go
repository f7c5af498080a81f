package runner

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/task"
)

// stopper keeps the first reason for which a program was stopped.
type stopper struct {
	mu    sync.Mutex
	first *Outcome
	asked chan struct{}
	holds holds // waits for a person, which no limit of time counts
}

func newStopper() *stopper { return &stopper{asked: make(chan struct{})} }

// Stop asks the supervisor to end the program; o is what the run then becomes.
// Only the first call counts.
func (s *stopper) Stop(o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = &o
		close(s.asked)
	}
}

func (s *stopper) why() *Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// clock knows when a program last made progress. Time in which the program
// waits for us is not idle time of the program.
type clock struct {
	begin time.Time
	last  atomic.Int64 // nanoseconds since begin
	busy  atomic.Bool
}

func newClock(begin time.Time) *clock {
	c := &clock{begin: begin}
	c.progress()
	return c
}

func (c *clock) progress() { c.last.Store(int64(time.Since(c.begin))) }

// during runs f, which may block, with the idle clock standing.
func (c *clock) during(f func()) {
	begin := time.Now()
	c.busy.Store(true)
	f()
	c.last.Add(int64(time.Since(begin)))
	c.busy.Store(false)
}

// idle returns for how long there was no progress.
func (c *clock) idle() time.Duration {
	if c.busy.Load() {
		return 0
	}
	return time.Since(c.begin) - time.Duration(c.last.Load())
}

// watch stops the child when ctx ends, a limit of time is reached, or st is
// asked to. It returns when the child is done or being stopped.
func watch(ctx context.Context, c *child, p program, st *stopper, clk *clock) {
	wall := timer(p.Limits.Timeout()-time.Since(clk.begin), p.Limits.TimeoutSeconds)
	idle := timer(p.Limits.IdleTimeout(), p.Limits.IdleTimeoutSeconds)
	for {
		select {
		case <-c.done:
			return
		case <-st.asked:
			p.Talk.hangUp(c.done, p.Grace)
			c.stop(p.Grace)
			return
		case <-ctx.Done():
			st.Stop(canceled(context.Cause(ctx)))
		case <-wall:
			if left, standing := st.wallLeft(clk.begin, p.Limits.Timeout()); left > 0 {
				if standing {
					left = max(left, lookAgain)
				}
				wall = time.After(left)
				continue
			}
			st.Stop(failed(task.PhaseTimeout, fmt.Sprintf("It ran longer than its time limit of %d s", p.Limits.TimeoutSeconds)))
		case <-idle:
			left := p.Limits.IdleTimeout() - st.holds.idle(clk.idle())
			if left <= 0 {
				st.Stop(failed(task.PhaseIdle, fmt.Sprintf("It said nothing for %d s", p.Limits.IdleTimeoutSeconds)))
				continue
			}
			idle = time.After(left)
		}
	}
}

// lookAgain is how often the wall clock is looked at while it stands still.
const lookAgain = 100 * time.Millisecond

// wallLeft is what is left of a time limit, and whether its clock stands still.
func (s *stopper) wallLeft(begin time.Time, limit time.Duration) (time.Duration, bool) {
	held, standing := s.holds.held()
	return limit - time.Since(begin) + held, standing
}

// timer fires after d, or never when there is no limit.
func timer(d time.Duration, limit int) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(d)
}
