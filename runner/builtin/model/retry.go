package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Limits of the retries of a turn.
const (
	Tries     = 5
	firstWait = 500 * time.Millisecond // doubles with each attempt
	maxWait   = 30 * time.Second       // of our own backoff
	maxAfter  = 2 * time.Minute        // of the provider's Retry-After; longer ones are not waited for
)

// RetryNotice reports that a turn is retried after Wait.
type RetryNotice struct {
	Attempt int // number of the next attempt, from 2
	Wait    time.Duration
	Err     *Error // why the last attempt failed
}

// retrying retries a model after temporary failures.
type retrying struct{ Model }

// Retry returns a model that tries m up to five times, as long as its failures
// are temporary. It waits as long as the provider asks, at most 2 min, or with
// exponential backoff and jitter.
func Retry(m Model) Model { return retrying{m} }

func (r retrying) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	var lost Usage
	for try := 1; ; try++ {
		reply, err := r.Model.Turn(ctx, req, on)
		reply.FailedUsage = lost
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary() || try == Tries || e.After > maxAfter {
			return reply, err
		}
		lost = lost.Plus(reply.Usage)
		wait := pause(try, e.After)
		on(Delta{Again: &RetryNotice{Attempt: try + 1, Wait: wait, Err: e}})
		select {
		case <-ctx.Done():
			return Reply{FailedUsage: lost}, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// pause returns how long to wait after an attempt: at least as long as the
// provider asks, with jitter so that callers do not retry together.
func pause(try int, after time.Duration) time.Duration {
	if after > 0 {
		return after + time.Duration(rand.Int64N(int64(after/10)+1))
	}
	d := min(firstWait<<(try-1), maxWait)
	return d*3/4 + time.Duration(rand.Int64N(int64(d/2)))
}
