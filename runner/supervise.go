package runner

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

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
	Input  string // written to stdin, which is then closed
	Talk   *talk  // instead of Input: a protocol that goes both ways
	Limits task.Limits
	Grace  time.Duration
	Shim   []string // nil: this binary
}

// handler reads what a program says. Its methods are called from one
// goroutine; while one runs, the program waits and its idle clock stands.
type handler interface {
	// Output takes the next bytes of a stream; they are valid during the call.
	Output(s stream, b []byte)
	// Quiet says that a stream has been silent for quietFlush.
	Quiet(s stream)
	// Closed says that a stream has ended.
	Closed(s stream)
	// Flooded tells whether so much was said that reading may slow down.
	Flooded() bool
}

// judge is a handler that knows which output is no progress: an agent that
// says for ever that it connects again is idle.
type judge interface {
	handler
	// Progressed tells whether what Output was last given got anywhere.
	Progressed() bool
}

// progressed asks a handler that can tell.
func progressed(h handler) bool {
	j, ok := h.(judge)
	return !ok || j.Progressed()
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
	wg.Go(func() {
		if p.Talk != nil {
			p.Talk.write(c.stdin, c.done)
		} else {
			_, _ = io.WriteString(c.stdin, p.Input)
		}
		_ = c.stdin.Close()
		if p.Talk != nil {
			p.Talk.linger(c, p.Grace)
		}
	})
	clock := newClock(begin)
	wg.Go(func() { watch(ctx, c, p, st, clock) })
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
	if c.report.Stopped || !c.report.Ended || p.Talk != nil {
		e.Stop = st.why()
	}
	return e, err
}

// discard is the handler that reads and forgets.
type discard struct{}

func (discard) Output(stream, []byte) {}
func (discard) Quiet(stream)          {}
func (discard) Closed(stream)         {}
func (discard) Flooded() bool         { return true }

// isStart tells whether err blames the program itself.
func isStart(err error) bool {
	var s *startError
	return errors.As(err, &s)
}
