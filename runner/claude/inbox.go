package claude

import (
	"fmt"
	"sync"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// inbox is what is known of the messages of people. The program takes what it
// is sent between two calls of its model, or after its answer, and then repeats
// it with the uuid that we gave it: only then the agent has it.
type inbox struct {
	mu     sync.Mutex
	sent   map[string]task.ID // not taken yet, by uuid
	known  map[task.ID]bool   // sent
	closed bool               // nothing is sent any more

	listening bool
	turns     int             // of the results so far
	replies   map[string]bool // of the model since the last result
}

// messageUUID names a message of people to the program.
func messageUUID(id task.ID) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", int64(id)) }

// listen sends messages from now on: before its first line the program has not
// read its prompt, which must come first.
func (r *reader) listen() {
	in := r.Spec.Inbox
	if in == nil || r.inbox.listening {
		return
	}
	r.inbox.listening = true
	r.pass()
	go func() {
		for {
			select {
			case <-r.Context().Done():
				return
			case <-in.Said:
				r.pass()
			}
		}
	}()
}

// pass sends what people said meanwhile, and returns how many messages were
// sent that the program did not take yet.
func (r *reader) pass() int {
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

// taken notes that the agent gets a message. One that comes too late, after the
// last result, stays queued for the next run, and the program is ended.
func (r *reader) taken(uuid string) {
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

// answersMore reports whether the program has messages to answer after a
// result. Those that would be over the limit of turns are left: the next run
// reads them.
func (r *reader) answersMore(res *result) bool {
	b := &r.inbox
	b.turns += res.Turns
	clear(b.replies)
	if limit := r.Spec.Plan.Limits.MaxTurns; limit > 0 && b.turns >= limit {
		return false
	}
	return b.listening && r.pass() > 0
}

// countTurn holds the limit of turns for what follows a result: the program
// counts from 0 then.
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

// hangUp ends the program's stdin: nothing more will be said.
func (r *reader) hangUp() {
	r.inbox.mu.Lock()
	r.inbox.closed = true
	r.inbox.mu.Unlock()
	r.ended.Store(true)
	r.CloseInput()
}
