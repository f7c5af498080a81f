//go:build linux

package runnertest

import (
	"slices"
	"sync"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// Inbox holds the messages to a run in a test.
type Inbox struct {
	mu        sync.Mutex
	arrived   chan struct{}
	queued    []task.RunMessage
	delivered []string
	last      task.ID
}

// NewInbox returns an inbox with messages from a person called Ann.
func NewInbox(texts ...string) *Inbox {
	in := &Inbox{arrived: make(chan struct{}, 1)}
	in.Add(texts...)
	return in
}

// Add adds messages.
func (in *Inbox) Add(texts ...string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, text := range texts {
		in.last++
		in.queued = append(in.queued, task.RunMessage{ID: in.last, Author: "user:Ann", Text: text})
	}
	select {
	case in.arrived <- struct{}{}:
	default:
	}
}

// Delivered returns the texts that the agent received.
func (in *Inbox) Delivered() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.delivered)
}

// Spec returns the inbox in the form that a run uses.
func (in *Inbox) Spec() *supervise.Inbox {
	return &supervise.Inbox{
		Arrived: in.arrived,
		Queued: func() []task.RunMessage {
			in.mu.Lock()
			defer in.mu.Unlock()
			return slices.Clone(in.queued)
		},
		Deliver: func(id task.ID) bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			at := slices.IndexFunc(in.queued, func(m task.RunMessage) bool { return m.ID == id })
			if at < 0 {
				return false
			}
			in.delivered = append(in.delivered, in.queued[at].Text)
			in.queued = slices.Delete(in.queued, at, at+1)
			return true
		},
	}
}
