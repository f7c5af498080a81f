package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"taskyard/task"
)

// stopper keeps the first reason for which a program was stopped.
type stopper struct {
	mu    sync.Mutex
	first *Outcome
	asked chan struct{}
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

// leaseLostGrace is the time between TERM and KILL for a program whose run is
// over.
const leaseLostGrace = time.Second

// watch stops the child when ctx ends, a limit of time is reached, or st is
// asked to. It returns when the child is done or being stopped, and reports
// whether interrupt asked the program to stop; interrupt may be nil.
func watch(ctx context.Context, c *child, p program, st *stopper, clk *clock, interrupt func() bool) (interrupted bool) {
	wall := timer(p.Limits.Timeout()-clk.ran(), p.Limits.TimeoutSeconds)
	idle := timer(p.Limits.IdleTimeout(), p.Limits.IdleTimeoutSeconds)
	for {
		select {
		case <-c.done:
			return false
		case <-st.asked:
			interrupted = interrupt != nil && interrupt()
			if interrupted {
				select {
				case <-c.done:
					return true
				case <-time.After(p.Grace):
				}
			}
			c.stop(p.Grace)
			return interrupted
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrLeaseLost) {
				interrupt, p.Grace = nil, min(p.Grace, leaseLostGrace)
			}
			st.Stop(canceled(context.Cause(ctx)))
			ctx = context.WithoutCancel(ctx)
		case <-wall:
			left, over := clk.left(p.Limits.Timeout())
			if over {
				st.Stop(failed(task.PhaseTimeout, fmt.Sprintf("It ran longer than its time limit of %d s", p.Limits.TimeoutSeconds)))
				continue
			}
			wall = time.After(left)
		case <-idle:
			left := p.Limits.IdleTimeout() - clk.idle()
			if left <= 0 {
				st.Stop(failed(task.PhaseIdle, fmt.Sprintf("It said nothing for %d s", p.Limits.IdleTimeoutSeconds)))
				continue
			}
			idle = time.After(max(left, minCheckPause))
		}
	}
}

// minCheckPause is the shortest time between two checks of a clock that may be
// paused.
const minCheckPause = 20 * time.Millisecond

// timer fires after d, or never when there is no limit.
func timer(d time.Duration, limit int) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(d)
}
