package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that only the test moves: it is stopped, or runs with the
// real one until it is moved. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	now   time.Time // zero: real time
	ahead time.Duration
	reads int
}

// NewClock returns a clock that is stopped on a Monday morning in March 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)} }

// RunningClock returns a clock that shows the real time until it is moved.
func RunningClock() *Clock { return &Clock{} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	if c.now.IsZero() {
		return time.Now().Add(c.ahead)
	}
	return c.now.Add(c.ahead)
}

// Stop stops the clock at its current time.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		c.now = time.Now()
	}
}

// Forward moves the clock; a negative duration moves it back.
func (c *Clock) Forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Behind sets the clock to d before its initial time.
func (c *Clock) Behind(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = -d
}

// Reads returns how often Now was called.
func (c *Clock) Reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}
