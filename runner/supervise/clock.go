package supervise

import (
	"sync"
	"time"
)

// clock measures how long a run worked, and since when it made no progress.
// Time in which the agent waits for us is not idle; time in which it waits for
// a person, or for what it delegated, does not count at all. It is safe for
// concurrent use.
type clock struct {
	mu    sync.Mutex
	begin time.Time
	last  time.Duration // of the last progress, in the time that counts
	busy  int           // how often the agent waits for us
	open  int           // how many persons and delegated runs are waited for
	since time.Time     // from when on, while open
	held  time.Duration // for which they were waited for before
}

func newClock(begin time.Time) *clock {
	c := &clock{begin: begin}
	c.last = c.now()
	return c
}

// now is the time that counts, since begin. It is called under mu.
func (c *clock) now() time.Duration {
	at := time.Now()
	if c.open > 0 {
		at = c.since
	}
	return at.Sub(c.begin) - c.held
}

// grant ends an idle time; the next one begins after d.
func (c *clock) grant(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = c.now() + d
}

// during runs f, which may block, with the idle clock paused. f reports
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

// aside is what a sign of work counts for, at most, while a person is waited
// for: a stray word does not make hours of waiting count.
const aside = 5 * time.Second

// besides has the time count in which an agent works although it waits for a
// person: else a question would stop the clocks of one that never waits. It is
// called under mu.
func (c *clock) besides() {
	if c.open == 0 {
		return
	}
	passed := time.Since(c.since)
	c.held += passed - min(passed, aside)
	c.since = c.since.Add(passed)
}

// pause runs f, which waits for a person, with both clocks paused.
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
		c.held += time.Since(c.since)
	}
}

// follow pauses both clocks while the last value of waits is true, until done
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

// left returns how much of a time limit is left: the run may have been paused
// since a timer was set. At least minCheckPause, unless it is over.
func (c *clock) left(limit time.Duration) (left time.Duration, over bool) {
	if left = limit - c.ran(); left <= 0 {
		return 0, true
	}
	return max(left, minCheckPause), false
}

// ran returns for how long the run worked.
func (c *clock) ran() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// idle returns for how long there was no progress.
func (c *clock) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		return 0
	}
	return max(0, c.now()-c.last)
}
