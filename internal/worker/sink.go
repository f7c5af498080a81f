package worker

import (
	"sync"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner/supervise"
	"taskyard/task"
)

const (
	sendEvery  = 200 * time.Millisecond
	sendEvents = 50        // of one report
	sendBytes  = 256 << 10 // of one report as JSON, approximately
	waitEvents = 2000      // buffered while the server is unreachable; more block the program
)

// sink sends the events of a run in numbered batches. A batch is repeated until
// it is accepted, and the server skips events that it already has.
type sink struct {
	c *execution

	mu     sync.Mutex
	room   *sync.Cond // there is room again, or the sink is closed
	queue  []task.RunLine
	closed bool // events are no longer accepted
	done   bool
	next   int64 // number of the first event in the queue

	wakeup chan struct{}
	ended  chan struct{}
}

func newSink(c *execution) *sink {
	s := &sink{c: c, next: 1, wakeup: make(chan struct{}, 1), ended: make(chan struct{})}
	s.room = sync.NewCond(&s.mu)
	go s.send()
	return s
}

// Started reports that the program is running; an error stops it.
func (s *sink) Started(supervise.Process) error {
	return s.c.report(s.c.revoked, "working", s.c.leaseRef(), nil)
}

// Event queues one event.
func (s *sink) Event(e supervise.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) >= waitEvents && !s.closed {
		s.room.Wait()
	}
	if s.closed {
		return
	}
	s.queue = append(s.queue, task.RunLine{Type: e.Type, Text: e.Text, Data: reportedData(e.Data)})
	s.wake()
}

func (s *sink) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// close sends the remaining events and returns when they are accepted, or never
// will be.
func (s *sink) close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.wake()
	<-s.ended
}

func (s *sink) send() {
	defer close(s.ended)
	for {
		select {
		case <-s.wakeup:
		case <-s.c.revoked.Done():
			s.stopListening()
			return
		}
		for {
			from, batch, done := s.batch()
			if len(batch) == 0 {
				if done {
					return
				}
				break
			}
			if !s.deliver(from, batch) {
				s.stopListening()
				return
			}
		}
		sleep.For(s.c.revoked, sendEvery)
	}
}

// batch returns the first events of the queue, which stay in it.
func (s *sink) batch() (from int64, batch []task.RunLine, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for i, l := range s.queue {
		size += task.JSONBytes(l.Text) + task.JSONBytes(string(l.Data)) // the server rejects bodies of more than 1 MiB
		if i == sendEvents || i > 0 && size > sendBytes {
			break
		}
		batch = append(batch, l)
	}
	return s.next, batch, s.done
}

// deliver sends a batch and removes it from the queue; false if the server no
// longer accepts events.
func (s *sink) deliver(from int64, batch []task.RunLine) bool {
	in := struct {
		task.LeaseRef
		From   int64          `json:"from"`
		Events []task.RunLine `json:"events"`
	}{s.c.leaseRef(), from, batch}
	if err := s.c.report(s.c.revoked, "events", in, nil); err != nil {
		s.c.log.Warn("transcript lines lost", "lines", len(batch), "error", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.next = s.queue[len(batch):], s.next+int64(len(batch))
	s.room.Broadcast()
	return true
}

func (s *sink) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.queue = true, nil
	s.room.Broadcast()
}
