// Package supervise starts the programs of agents under a shim, enforces their
// limits, ends their whole process trees, and records the transcript of a run.
// It is independent of the kind of agent: a kind embeds a Run, parses the
// output of its agent (Reader, InteractiveReader) and starts it with a Program.
package supervise

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"taskyard/runner/confine"
	"taskyard/task"
)

// DefaultGrace is the time between the steps of a stop: a request in the
// program's protocol, SIGTERM, SIGKILL.
const DefaultGrace = 5 * time.Second

// Reader parses the output of a program and decides its outcome. Its methods
// are called from one goroutine; while one runs, the program waits and its idle
// timeout is paused. A kind embeds *Run, which implements all of them, and
// overrides those that its program's protocol needs.
type Reader interface {
	// Output handles the next bytes of a stream, which are valid only during
	// the call. It reports whether they are progress; without any, the program
	// is idle.
	Output(s Stream, b []byte) (progress bool)
	// Quiet is called when a stream has been silent for 200 ms.
	Quiet(s Stream)
	// Closed is called when a stream has ended.
	Closed(s Stream)
	// Verdict returns the outcome of a program that ended by itself.
	Verdict(Exit) Outcome
	// End is called with the outcome, before the transcript is closed.
	End(*Outcome)

	run() *Run
}

// InteractiveReader is a Reader that also writes to its program: stdin stays open
// until it calls Run.CloseInput.
type InteractiveReader interface {
	Reader
	// Begin is called once, before anything else.
	Begin()
	// Interrupt asks the program in its protocol to stop, and reports whether
	// it could. It is called from another goroutine and does not wait.
	Interrupt() bool
}

// Stream is an output stream of a program.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
	streams
)

// Exit describes how a program ended by itself.
type Exit struct {
	Code   int
	Signal int  // signal that killed it
	Lost   bool // its shim was killed, so nothing is known
}

// Crashed reports whether something else killed the program or its shim.
func (e Exit) Crashed() bool { return e.Lost || e.Signal != 0 }

// program describes what the supervisor starts.
type program struct {
	RunID  task.ID
	Argv   []string // Argv[0] is an absolute path
	Env    []string
	Dir    string
	Input  string // written to stdin, which is then closed unless the reader is interactive
	Limits task.Limits
	Grace  time.Duration
	Shim   []string // nil: this binary
	Rules  *confine.Rules
}

// input writes messages to a program's stdin, in order.
type input struct {
	w       *os.File
	mu      sync.Mutex
	queue   [][]byte // unwritten messages; nil: close stdin
	writing bool
}

// maxUnread bounds the messages that the program has not read.
const maxUnread = 100

// post queues a message without waiting. Messages that cannot be written are
// lost with the program. It returns false if the program has too many unread
// messages.
func (in *input) post(b []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) >= maxUnread {
		return false
	}
	in.add(b)
	return true
}

// close closes stdin after everything queued is written. It does not wait.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.add(nil)
}

func (in *input) add(b []byte) {
	in.queue = append(in.queue, b)
	if !in.writing {
		in.writing = true
		go in.write() // the program may not be reading
	}
}

func (in *input) write() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for ; len(in.queue) > 0; in.queue = in.queue[1:] {
		b := in.queue[0]
		in.mu.Unlock()
		if b == nil {
			_ = in.w.Close()
		} else {
			_, _ = in.w.Write(b)
		}
		in.mu.Lock()
	}
	in.writing = false
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// ending describes how a program ended.
type ending struct {
	Report report
	Stop   *Outcome // why we stopped it; nil if it ended by itself
	Swept  int      // processes that had escaped from the shim and were killed
}

// supervise starts the program, notifies the sink, passes its output to r and
// returns when all of its processes have ended. It stops the program when ctx
// ends, when a limit is reached, or when Stop is called. The error is a
// *startError if the program could not be started, or that of the sink.
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
	run.in.post([]byte(p.Input))
	interactive, ok := r.(InteractiveReader)
	if ok {
		interactive.Begin()
		interrupt = interactive.Interrupt
	} else {
		run.in.close()
	}
	wg.Go(func() {
		run.enforceTime(c.done, "It said nothing", nil)
		over()
	})
	wg.Go(func() { run.clock.follow(run.Spec.Waits, c.done) })
	interrupted := false
	wg.Go(func() { interrupted = run.stopChild(ctx, c, p.Grace, interrupt) })
	run.During(func() { err = run.sink.Started(c.process) }) // the server may be unreachable
	if err != nil {
		run.Stop(Failed(task.PhaseError, "The start of the run could not be recorded"))
		r = discard{Reader: r}
	}
	pumpOutput(c, r, run)
	<-c.done
	e := ending{Report: c.report, Swept: c.sweep()}
	c.close()
	wg.Wait()
	if c.report.Stopped || !c.report.Ended || interrupted {
		e.Stop = run.Stopped()
	}
	return e, err
}

// discard is a Reader that ignores the output.
type discard struct{ Reader }

func (discard) Output(Stream, []byte) bool { return true }
func (discard) Quiet(Stream)               {}
func (discard) Closed(Stream)              {}

// startFailure returns err as a *startError if the program itself is the cause,
// otherwise nil.
func startFailure(err error) *startError {
	var s *startError
	errors.As(err, &s)
	return s
}
