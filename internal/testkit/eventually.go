package testkit

import (
	"testing"
	"time"
)

// Patience is how long Eventually waits where the test has no deadline of its
// own. With all tests at once on two slow cores, a story that takes 5 s takes more
// than a minute.
const Patience = 3 * time.Minute

// Eventually waits until something is so, and ends the test if it is not
// within Patience, or shortly before the deadline of the test. It is for what
// sends no signal: other processes, sockets, counters.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	EventuallyWithin(t, Patience, what, so)
}

// EventuallyWithin is Eventually with a limit of its own.
func EventuallyWithin(t testing.TB, limit time.Duration, what string, so func() bool) {
	t.Helper()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			limit = min(limit, time.Until(end)-time.Second) // to say what was waited for
		}
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	// What is so within a moment is noticed at once, and a look that costs is
	// rare when it takes longer.
	for pause := time.Millisecond; !so(); pause = min(2*pause, 25*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-over.C:
			t.Fatalf("not within %v: %s", limit.Round(time.Second), what)
		}
	}
}
