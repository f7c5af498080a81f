package runner

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/runner/confine"
	"taskyard/task"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// program is what the supervisor starts.
type program struct {
	RunID  task.ID
	Argv   []string // Argv[0] is an absolute path
	Env    []string
	Dir    string
	Input  string // written to stdin, which is then closed, but for a talker
	Limits task.Limits
	Waits  <-chan bool // as of a Spec
	Grace  time.Duration
	Shim   []string // nil: this binary
	Rules  *confine.Rules
}

// handler reads what a program says. Its methods are called from one
// goroutine; while one runs, the program waits and its idle clock is paused.
type handler interface {
	// Output takes the next bytes of a stream; they are valid during the call.
	// It reports whether they show progress: without any the program is idle.
	Output(s stream, b []byte) (progress bool)
	// Quiet says that a stream has been silent for quietFlush.
	Quiet(s stream)
	// Closed says that a stream has ended.
	Closed(s stream)
	// Flooded reports whether so much was said that reading may slow down.
	Flooded() bool
}

// talker is a handler that answers its program: stdin stays open until the
// talker closes it.
type talker interface {
	handler
	// Attach is called once, before anything else.
	Attach(link)
	// Interrupt asks the program in its protocol to stop, and reports whether it
	// could. It is called from another goroutine and does not wait.
	Interrupt() bool
}

// link is what a talker has of its program.
type link struct {
	ctx context.Context // ends when the program is being stopped, or has ended
	in  *input
	clk *clock
}

// input writes to a program's stdin, one message at a time.
type input struct {
	mu      sync.Mutex
	w       *os.File
	waiting atomic.Int32 // posts that are not written yet
}

// Send writes a message. It blocks while the program does not read, at most
// until the program is gone; what cannot be written is lost with it.
func (in *input) Send(b []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, _ = in.w.Write(b)
}

// Post is Send without waiting. It returns false when the program has left too
// much unread.
func (in *input) Post(b []byte) bool {
	if in.waiting.Add(1) > 100 {
		in.waiting.Add(-1)
		return false
	}
	go func() {
		in.Send(b)
		in.waiting.Add(-1)
	}()
	return true
}

// Close ends the input, once all that was sent is written.
func (in *input) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	_ = in.w.Close()
}

// stream is one of the two outputs of a program.
type stream int

const (
	stdout stream = iota
	stderr
	streams
)

// ending is how a program ended.
type ending struct {
	Report report
	Stop   *Outcome // why we stopped it; nil when it ended by itself
	Swept  int      // processes that had got away from the shim and were killed
}

// supervise starts the program, calls started, passes its output to h and
// returns when nothing of it is left. It stops the program when ctx ends, when
// a limit is reached, or when st is asked to. The error is a *startError when
// the program could not be started, or that of started.
func supervise(ctx context.Context, p program, st *stopper, started func(Process) error, h handler) (ending, error) {
	if p.Grace <= 0 {
		p.Grace = defaultGrace
	}
	begin := time.Now()
	c, err := startChild(p)
	if err != nil {
		return ending{}, err
	}
	var wg sync.WaitGroup
	clock := newClock(begin)
	in := &input{w: c.stdin}
	living, over := context.WithCancel(ctx)
	defer over()
	var interrupt func() bool
	t, talks := h.(talker)
	if talks {
		t.Attach(link{living, in, clock})
		interrupt = t.Interrupt
	}
	wg.Go(func() {
		in.Send([]byte(p.Input))
		if !talks {
			in.Close()
		}
	})
	wg.Go(func() {
		select {
		case <-st.asked:
		case <-c.done:
		}
		over()
	})
	wg.Go(func() { clock.follow(p.Waits, c.done) })
	interrupted := false
	wg.Go(func() { interrupted = watch(ctx, c, p, st, clock, interrupt) })
	err = started(c.process)
	if err != nil {
		st.Stop(failed(task.PhaseError, "The start of the run could not be recorded"))
		h = discard{}
	}
	pump(c, h, clock)
	<-c.done
	e := ending{Report: c.report, Swept: c.sweep()}
	c.close()
	wg.Wait()
	if c.report.Stopped || !c.report.Ended || interrupted {
		e.Stop = st.why()
	}
	return e, err
}

// discard is the handler that reads and forgets.
type discard struct{}

func (discard) Output(stream, []byte) bool { return true }
func (discard) Quiet(stream)               {}
func (discard) Closed(stream)              {}
func (discard) Flooded() bool              { return true }

// isStart reports whether err blames the program itself.
func isStart(err error) bool {
	var s *startError
	return errors.As(err, &s)
}
