// Package supervise starts the programs of agents under a shim, keeps their
// limits, ends their whole process trees, and keeps the transcript of a run.
// It knows no kind of agent: a kind embeds a Run, reads what its agent
// says (Reader, Talker) and lets a Program run.
package supervise

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

// DefaultGrace is the time between the steps of a stop: asking in the
// program's protocol, TERM, KILL.
const DefaultGrace = 5 * time.Second

// Reader reads what a program says, and says how it ended. Its methods are
// called from one goroutine; while one runs, the program waits and its idle
// clock is paused. A kind embeds *Run, which has all of them, and has its
// own where its program speaks another protocol.
type Reader interface {
	// Output takes the next bytes of a stream; they are valid during the call.
	// It reports whether they show progress: without any the program is idle.
	Output(s Stream, b []byte) (progress bool)
	// Quiet says that a stream has been silent for 200 ms.
	Quiet(s Stream)
	// Closed says that a stream has ended.
	Closed(s Stream)
	// Verdict is the outcome of a program that ended by itself.
	Verdict(Exit) Outcome
	// End is called with the outcome, before the transcript is closed.
	End(*Outcome)

	run() *Run
}

// Talker is a Reader that answers its program: stdin stays open until it calls
// Run.CloseInput.
type Talker interface {
	Reader
	// Begin is called once, before anything else.
	Begin()
	// Interrupt asks the program in its protocol to stop, and reports whether it
	// could. It is called from another goroutine and does not wait.
	Interrupt() bool
}

// Stream is one of the two outputs of a program.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
	streams
)

// Exit is how a program ended by itself.
type Exit struct {
	Code   int
	Signal int  // that killed it
	Lost   bool // its shim was killed, and nothing is known
}

// Crashed reports whether the program, or the shim, was killed by others.
func (e Exit) Crashed() bool { return e.Lost || e.Signal != 0 }

// program is what the supervisor starts.
type program struct {
	RunID  task.ID
	Argv   []string // Argv[0] is an absolute path
	Env    []string
	Dir    string
	Input  string // written to stdin, which is then closed, but for a Talker
	Limits task.Limits
	Grace  time.Duration
	Shim   []string // nil: this binary
	Rules  *confine.Rules
}

// input writes to a program's stdin, one message at a time.
type input struct {
	mu      sync.Mutex
	w       *os.File
	waiting atomic.Int32 // posts that are not written yet
}

// maxUnread is how many messages may wait for a program to read them.
const maxUnread = 100

// send writes a message. It blocks while the program does not read, at most
// until the program is gone; what cannot be written is lost with it.
func (in *input) send(b []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, _ = in.w.Write(b)
}

// post is send without waiting. It returns false when the program has left too
// much unread.
func (in *input) post(b []byte) bool {
	if in.waiting.Add(1) > maxUnread {
		in.waiting.Add(-1)
		return false
	}
	go func() {
		in.send(b)
		in.waiting.Add(-1)
	}()
	return true
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	_ = in.w.Close()
}

// ending is how a program ended.
type ending struct {
	Report report
	Stop   *Outcome // why we stopped it; nil when it ended by itself
	Swept  int      // processes that had got away from the shim and were killed
}

// supervise starts the program, tells the sink, passes its output to r and
// returns when nothing of it is left. It stops the program when ctx ends, when
// a limit is reached, or when the run is asked to. The error is a
// *startError when the program could not be started, or that of the sink.
func supervise(ctx context.Context, p program, r Reader) (ending, error) {
	run := r.run()
	run.clock = newClock(time.Now())
	c, err := startChild(p)
	if err != nil {
		return ending{}, err
	}
	var wg sync.WaitGroup
	var over context.CancelFunc
	run.in = &input{w: c.stdin}
	run.ctx, over = context.WithCancel(ctx)
	defer over()
	var interrupt func() bool
	t, talks := r.(Talker)
	if talks {
		t.Begin()
		interrupt = t.Interrupt
	}
	wg.Go(func() {
		run.in.send([]byte(p.Input))
		if !talks {
			run.in.close()
		}
	})
	wg.Go(func() {
		run.enforceTime(c.done, "It said nothing", nil)
		over()
	})
	wg.Go(func() { run.clock.follow(run.Spec.Waits, c.done) })
	interrupted := false
	wg.Go(func() { interrupted = run.stopChild(ctx, c, p.Grace, interrupt) })
	err = run.sink.Started(c.process)
	if err != nil {
		run.Stop(Failed(task.PhaseError, "The start of the run could not be recorded"))
		r = discard{Reader: r}
	}
	pump(c, r, run)
	<-c.done
	e := ending{Report: c.report, Swept: c.sweep()}
	c.close()
	wg.Wait()
	if c.report.Stopped || !c.report.Ended || interrupted {
		e.Stop = run.Stopped()
	}
	return e, err
}

// discard is the Reader that reads and forgets.
type discard struct{ Reader }

func (discard) Output(Stream, []byte) bool { return true }
func (discard) Quiet(Stream)               {}
func (discard) Closed(Stream)              {}

// isStart reports whether err blames the program itself.
func isStart(err error) bool {
	var s *startError
	return errors.As(err, &s)
}
