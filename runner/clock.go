package runner

import (
	"sync"
	"time"
)

// clock measures how long a program ran, and since when it made no progress.
// Time in which the program waits for us is not idle; time in which it waits
// for somebody's permission does not count at all.
type clock struct {
	mu    sync.Mutex
	begin time.Time
	last  time.Time     // of the last progress, moved on by what was not idle
	busy  bool          // the program waits for us
	held  time.Duration // for which it waited for permissions
	hold  time.Time     // since when it waits for one; zero: it does not
}

func newClock(begin time.Time) *clock { return &clock{begin: begin, last: time.Now()} }

// during runs f, which may block, with the idle clock standing. f tells
// whether the program made progress.
func (c *clock) during(f func() (progress bool)) {
	from := time.Now()
	c.mu.Lock()
	c.busy = true
	c.mu.Unlock()
	progress := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if progress {
		c.last = time.Now()
	} else {
		c.last = c.last.Add(time.Since(from))
	}
}

// stand runs f with both clocks standing. It is called within during.
func (c *clock) stand(f func()) {
	c.mu.Lock()
	c.hold = time.Now()
	c.mu.Unlock()
	f()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held += time.Since(c.hold)
	c.hold = time.Time{}
}

// ran returns for how long the program ran, without what it waited.
func (c *clock) ran() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.hold.IsZero() {
		now = c.hold
	}
	return now.Sub(c.begin) - c.held
}

// idle returns for how long there was no progress.
func (c *clock) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return 0
	}
	return time.Since(c.last)
}
