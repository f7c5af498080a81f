package service

import (
	"context"
	"errors"
	"maps"
	"sync"

	"taskyard/task"
)

// counters count what was done and refused since the start, by kind of event
// and code of error.
type counters struct {
	mu      sync.Mutex
	events  map[string]int64
	refused map[task.Code]int64
}

func (c *counters) done(kinds []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range kinds {
		c.events[k]++
	}
}

// refuse counts an error that a caller may read: conflicts, such as stale
// claims and leases, and what the server could not do.
func (c *counters) refuse(err error) {
	var e *task.Error
	if !errors.As(err, &e) || e.Kind != task.Conflict && e.Kind != task.TooMany && e.Kind != task.Unavailable && e.Kind != task.Full {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[e.Code]++
}

// Counters returns, since the start, how many events of each kind were written
// and how many writes were refused with each code.
func (s *Service) Counters() (events map[string]int64, refused map[task.Code]int64) {
	c := &s.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.events), maps.Clone(c.refused)
}

// minFree is the room on the disk below which the server is not ready: that of
// a write-ahead log and a few large writes.
const minFree = 32 << 20 // bytes

// HealthProblems names what keeps the store from working, or soon will: "disk" and
// "schema", each with a sentence. It writes nothing.
func (s *Service) HealthProblems(ctx context.Context) map[string]string {
	found := map[string]string{}
	if free, err := s.db.Free(); err == nil && free < minFree {
		found["disk"] = "only " + task.ID(free>>20).String() + " MiB are free on the disk of the database; free some space (32 MiB at least)"
	}
	// One of several servers may be newer already: the schema fits the one before, too.
	if have, want, err := s.db.Schema(ctx); err == nil && have != want && (have < want || !s.db.Shared()) {
		found["schema"] = "another program changed the schema of the database from " + task.ID(want).String() +
			" to " + task.ID(have).String() + "; start the taskyard that belongs to it"
	}
	return found
}

// Free returns the free space on the disk of the database, in bytes.
func (s *Service) Free() (uint64, error) { return s.db.Free() }
