package testkit

import (
	"testing"
	"time"
)

// Timeout is how long Eventually waits in a test without a deadline. With all
// tests running on two slow cores, a test that normally takes 5 s takes more than a
// minute.
const Timeout = 3 * time.Minute

// Eventually waits until so returns true, and fails the test if that takes
// longer than Patience, or until shortly before the deadline of the test. It is
// for conditions without a signal: other processes, sockets, counters.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	EventuallyWithin(t, Timeout, what, so)
}

// EventuallyWithin is like Eventually, with a custom limit.
func EventuallyWithin(t testing.TB, limit time.Duration, what string, so func() bool) {
	t.Helper()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			limit = min(limit, time.Until(end)-time.Second) // leave time to report the failure
		}
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	// Poll often at first, and rarely if it takes longer, because the condition
	// may be expensive.
	for pause := time.Millisecond; !so(); pause = min(2*pause, 25*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-over.C:
			t.Fatalf("not within %v: %s", limit.Round(time.Second), what)
		}
	}
}
