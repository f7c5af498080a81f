package cmd

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// repeatPause is how long identical errors are suppressed.
const repeatPause = time.Minute

// repeatsHandler suppresses errors that equal one of the last minute, and
// reports how many with the next one. Otherwise, operations that are retried
// every second would fill the log while the database is unavailable.
type repeatsHandler struct {
	slog.Handler
	within string // attributes and groups of all its records
	seen   *seenErrors
}

type seenErrors struct {
	mu   sync.Mutex
	list map[string]*seenError
}

type seenError struct {
	at      time.Time
	leftOut int
}

func newRepeatsHandler(h slog.Handler) *repeatsHandler {
	return &repeatsHandler{Handler: h, seen: &seenErrors{list: map[string]*seenError{}}}
}

// Handle passes a record on, unless it repeats an error.
func (h *repeatsHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		leftOut, again := h.seen.note(h.within+recordKey(&r), r.Time)
		if again {
			return nil
		}
		if leftOut > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("repeated", leftOut))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func recordKey(r *slog.Record) string {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString("\x00" + a.String())
		return true
	})
	return b.String()
}

// note reports whether an error repeats one of the last minute; otherwise, it
// returns how many were suppressed.
func (s *seenErrors) note(key string, now time.Time) (leftOut int, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.list[key]
	if one != nil && now.Sub(one.at) < repeatPause {
		one.leftOut++
		return 0, true
	}
	for k, old := range s.list {
		if k != key && now.Sub(old.at) > 2*repeatPause {
			delete(s.list, k)
		}
	}
	s.list[key] = &seenError{at: now}
	if one != nil {
		leftOut = one.leftOut
	}
	return leftOut, false
}

// WithAttrs returns a handler with additional attributes.
func (h *repeatsHandler) WithAttrs(list []slog.Attr) slog.Handler {
	other := *h
	other.Handler = h.Handler.WithAttrs(list)
	for _, a := range list {
		other.within += a.String() + "\x00"
	}
	return &other
}

// WithGroup returns a handler whose additional attributes are in a group.
func (h *repeatsHandler) WithGroup(name string) slog.Handler {
	other := *h
	other.Handler = h.Handler.WithGroup(name)
	other.within += name + "\x00"
	return &other
}
