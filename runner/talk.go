package runner

import (
	"io"
	"sync"
	"time"
)

// maxUnread is how many messages a program may leave unread.
const maxUnread = 256

// talk is what we say to a program whose protocol goes both ways. Saying never
// blocks, so that a program that does not listen cannot hold the server.
type talk struct {
	lines  chan []byte
	over   chan struct{} // closed when there is no more to say
	once   sync.Once
	cancel func() // asks the program, in its protocol, to stop; nil: it cannot be asked
}

func newTalk() *talk { return &talk{lines: make(chan []byte, maxUnread), over: make(chan struct{})} }

// say queues one message; false when the program reads too slowly.
func (t *talk) say(line []byte) bool {
	select {
	case t.lines <- line:
		return true
	default:
		return false
	}
}

// end says that nothing will follow: stdin is closed after what is queued.
func (t *talk) end() { t.once.Do(func() { close(t.over) }) }

// write writes what is said until the end of it, or of the program.
func (t *talk) write(w io.Writer, done <-chan struct{}) {
	for {
		select {
		case line := <-t.lines:
			if _, err := w.Write(line); err != nil {
				return
			}
			continue
		default:
		}
		select {
		case line := <-t.lines:
			if _, err := w.Write(line); err != nil {
				return
			}
		case <-t.over:
			if len(t.lines) == 0 {
				return
			}
		case <-done:
			return
		}
	}
}

// linger ends a program that goes on although its stdin is closed.
func (t *talk) linger(c *child, grace time.Duration) {
	select {
	case <-c.done:
	case <-time.After(grace):
		c.stop(grace)
	}
}

// hangUp asks the program, in its protocol, to stop and gives it the grace.
func (t *talk) hangUp(done <-chan struct{}, grace time.Duration) {
	if t == nil || t.cancel == nil {
		return
	}
	t.cancel()
	select {
	case <-done:
	case <-time.After(grace):
	}
}
