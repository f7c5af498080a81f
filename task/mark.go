package task

import (
	"crypto/sha256"
	"encoding/hex"
)

// Mark names a text in a few letters: a form carries the mark of what its
// reader saw, so that a change by somebody else meanwhile is noticed. The same
// texts have the same mark, and no text has the empty one.
func Mark(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(t))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// StepSeen is what a caller read of a step before changing it: marks of its
// title, and of title and details together. An empty one is not compared.
type StepSeen struct{ Title, Text string }

// Matches reports whether the step is still what was read.
func (w StepSeen) Matches(s Step) bool {
	return (w.Title == "" || w.Title == Mark(s.Title)) && (w.Text == "" || w.Text == Mark(s.Title, s.Details))
}

// StreamMark is a place in a task's stream of messages, events and runs: the
// ids before which, or after which, entries are wanted. Zero is no bound.
type StreamMark struct{ Message, Event, Run ID }
