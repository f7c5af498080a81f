package runner

import (
	"context"
	"errors"
	"sync"
	"time"
)

// holds keeps the times in which a run waits for a person: its wall clock and
// its idle clock stand still then. The zero value is ready. It is safe for
// concurrent use.
type holds struct {
	mu    sync.Mutex
	open  int       // waits that go on
	since time.Time // of the first of them
	total time.Duration
	ended time.Time // of the last wait
}

// during runs f, which waits for a person, with the clocks standing still.
func (h *holds) during(f func()) {
	h.mu.Lock()
	if h.open++; h.open == 1 {
		h.since = time.Now()
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.open--; h.open == 0 {
			h.ended = time.Now()
			h.total += h.ended.Sub(h.since)
		}
	}()
	f()
}

// held returns for how long the clocks have stood still in all, and whether
// they do now.
func (h *holds) held() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open > 0 {
		return h.total + time.Since(h.since), true
	}
	return h.total, false
}

// idle returns how much of an idle time counts: none of it while a wait goes
// on, and what came after the last one.
func (h *holds) idle(d time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.open > 0:
		return 0
	case h.ended.IsZero():
		return d
	}
	return min(d, time.Since(h.ended))
}

// permit asks people through the sink, with the clocks of the program standing
// still. A sink that cannot ask is an error.
func (s *stopper) permit(ctx context.Context, sink Sink, req PermissionRequest) (a PermissionAnswer, err error) {
	p, ok := sink.(Permitter)
	if !ok {
		return a, errors.New("nobody can be asked here")
	}
	s.holds.during(func() { a, err = p.Permit(ctx, req) })
	return a, err
}
