package supervise

import (
	"sync"
	"time"
)

// clock measures how long a run has worked, and how long it has made no
// progress. Time in which the agent waits for us is not idle time; time in
// which it waits for a person, or for a delegated run, does not count at all.
// It is safe for concurrent use.
type clock struct {
	mu     sync.Mutex
	begin  time.Time
	last   time.Duration // time of the last progress, in counted time
	busy   int           // number of reasons why the agent waits for us
	open   int           // number of people and delegated runs that the agent waits for
	since  time.Time     // start of the current wait, while open > 0
	waited time.Duration // duration of earlier waits
}

func newClock(begin time.Time) *clock {
	c := &clock{begin: begin}
	c.last = c.now()
	return c
}

// now returns the counted time since begin. The caller holds mu.
func (c *clock) now() time.Duration {
	at := time.Now()
	if c.open > 0 {
		at = c.since
	}
	return at.Sub(c.begin) - c.waited
}

// grant resets the idle time and delays its start by d.
func (c *clock) grant(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = c.now() + d
}

// during calls f, which may block, with the idle timeout paused. f reports
// whether there was progress.
func (c *clock) during(f func() (progress bool)) {
	c.mu.Lock()
	from := c.now()
	c.busy++
	c.mu.Unlock()
	progress := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if progress {
		c.besides()
		c.last = c.now()
	} else {
		c.last += c.now() - from
	}
}

// maxWaitProgress is the most that a sign of work counts while the agent waits for a
// person, so that a stray word does not make hours of waiting count.
const maxWaitProgress = 5 * time.Second

// besides counts the time in which an agent works although it waits for a
// person. Otherwise, a question would stop the timeouts of an agent that does
// not wait for the answer. The caller holds mu.
func (c *clock) besides() {
	if c.open == 0 {
		return
	}
	passed := time.Since(c.since)
	c.waited += passed - min(passed, maxWaitProgress)
	c.since = c.since.Add(passed)
}

// pause calls f, which waits for a person, with both timeouts paused.
func (c *clock) pause(f func()) {
	c.stop()
	defer c.resume()
	f()
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open++; c.open == 1 {
		c.since = time.Now()
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 {
		c.waited += time.Since(c.since)
	}
}

// follow pauses both timeouts while the last value of waits is true, until done
// is closed. A nil channel has no values.
func (c *clock) follow(waits <-chan bool, done <-chan struct{}) {
	paused := false
	defer func() {
		if paused {
			c.resume()
		}
	}()
	for {
		select {
		case <-done:
			return
		case now := <-waits:
			switch {
			case now && !paused:
				c.stop()
			case !now && paused:
				c.resume()
			}
			paused = now
		}
	}
}

// left returns how much of a time limit is left, because the run may have been
// paused since a timer was set. left is at least minCheckPause unless over is
// true.
func (c *clock) left(limit time.Duration) (left time.Duration, over bool) {
	if left = limit - c.worked(); left <= 0 {
		return 0, true
	}
	return max(left, minCheckPause), false
}

// worked returns how long the run has worked.
func (c *clock) worked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// idle returns how long there has been no progress.
func (c *clock) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		return 0
	}
	return max(0, c.now()-c.last)
}
