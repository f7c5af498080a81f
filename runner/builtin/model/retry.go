package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// How often and how long a turn is asked for again.
const (
	Tries     = 5
	firstWait = 500 * time.Millisecond // doubles with each try
	maxWait   = 30 * time.Second       // of our own
	maxAfter  = 2 * time.Minute        // of the provider's; who says more is not waited for
)

// Again is the news that a turn is asked for again, after Wait.
type Again struct {
	Try  int // the one that follows, from 2
	Wait time.Duration
	Err  *Error // why the last one failed
}

// retrying asks a model again after failures that may pass.
type retrying struct{ Model }

// Retry returns a model that asks m up to five times, as long as its failures
// are temporary: after the time that the provider names, at most 2 min, or
// after growing, jittered waits.
func Retry(m Model) Model { return retrying{m} }

func (r retrying) Turn(ctx context.Context, req Request, on func(Delta)) (Reply, error) {
	var lost Usage
	for try := 1; ; try++ {
		reply, err := r.Model.Turn(ctx, req, on)
		reply.Lost = lost
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary() || try == Tries || e.After > maxAfter {
			return reply, err
		}
		lost = lost.Plus(reply.Usage)
		wait := pause(try, e.After)
		on(Delta{Again: &Again{Try: try + 1, Wait: wait, Err: e}})
		select {
		case <-ctx.Done():
			return Reply{Lost: lost}, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// pause returns how long to wait after a try: no less than the provider asks
// for, and never the same for all who wait.
func pause(try int, after time.Duration) time.Duration {
	if after > 0 {
		return after + time.Duration(rand.Int64N(int64(after/10)+1))
	}
	d := min(firstWait<<(try-1), maxWait)
	return d*3/4 + time.Duration(rand.Int64N(int64(d/2)))
}
