package claude

import (
	"fmt"
	"sync"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// inbox tracks messages from people. The program reads its input between two
// model calls, or after its answer, and then repeats a message with the uuid
// that we assigned: only then has the agent received it.
type inbox struct {
	mu     sync.Mutex
	sent   map[string]task.ID // not received yet, by uuid
	known  map[task.ID]bool   // sent
	closed bool               // no more messages are sent

	listening bool
	turns     int             // of the results so far
	replies   map[string]bool // model replies since the last result
}

// messageUUID returns the uuid of a message.
func messageUUID(id task.ID) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", int64(id)) }

// listen starts sending messages: before its first line, the program has not
// read its prompt, which must come first.
func (r *reader) listen() {
	in := r.Spec.Inbox
	if in == nil || r.inbox.listening {
		return
	}
	r.inbox.listening = true
	r.sendMessages()
	go func() {
		for {
			select {
			case <-r.Context().Done():
				return
			case <-in.Arrived:
				r.sendMessages()
			}
		}
	}()
}

// sendMessages sends new messages from people, and returns how many sent messages the
// program has not received yet.
func (r *reader) sendMessages() int {
	b := &r.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent == nil {
		b.sent, b.known = map[string]task.ID{}, map[task.ID]bool{}
	}
	if b.closed || r.Spec.Inbox == nil {
		return len(b.sent)
	}
	for _, m := range r.Spec.Inbox.Queued() {
		id := messageUUID(m.ID)
		if !b.known[m.ID] && r.Send([]byte(userMessage(id, m.Prompt()))) {
			b.sent[id], b.known[m.ID] = m.ID, true
		}
	}
	return len(b.sent)
}

// messageReceived records that the agent received a message. After the last result it is
// too late: the message stays queued for the next run, and the program is
// stopped.
func (r *reader) messageReceived(uuid string) {
	b := &r.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.sent[uuid]
	switch {
	case ok && b.closed:
		r.Stop(r.Verdict(supervise.Exit{}))
	case ok:
		delete(b.sent, uuid)
		r.Spec.Inbox.Deliver(id)
	}
}

// hasPendingMessages reports whether the program has messages to answer after a
// result. Messages beyond the turn limit are left for the next run.
func (r *reader) hasPendingMessages(res *result) bool {
	b := &r.inbox
	b.turns += res.Turns
	clear(b.replies)
	if limit := r.Spec.Plan.Limits.MaxTurns; limit > 0 && b.turns >= limit {
		return false
	}
	return b.listening && r.sendMessages() > 0
}

// countTurn enforces the turn limit after a result: the program then counts
// from 0 again.
func (r *reader) countTurn(l *line) {
	limit := r.Spec.Plan.Limits.MaxTurns
	if limit == 0 || r.inbox.turns == 0 || l.Parent != "" || l.Message.ID == "" {
		return
	}
	if r.inbox.replies == nil {
		r.inbox.replies = map[string]bool{}
	}
	r.inbox.replies[task.ClipChars(l.Message.ID, maxName)] = true
	if n := r.inbox.turns + len(r.inbox.replies); n > limit {
		r.Stop(supervise.Failed(task.PhaseTurns, fmt.Sprintf("It took %d turns of at most %d", n, limit)))
	}
}

// finish closes the program's stdin.
func (r *reader) finish() {
	r.inbox.mu.Lock()
	r.inbox.closed = true
	r.inbox.mu.Unlock()
	r.ended.Store(true)
	r.CloseInput()
}
