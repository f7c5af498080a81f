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

// input writes to a program's stdin, in the order of the messages.
type input struct {
	w       *os.File
	mu      sync.Mutex
	queue   [][]byte // not written yet; nil: close stdin
	writing bool
}

// maxUnread is how many messages may wait for a program to read them.
const maxUnread = 100

// post writes a message without waiting; what cannot be written is lost with the
// program. It returns false when the program has left too much unread.
func (in *input) post(b []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) >= maxUnread {
		return false
	}
	in.add(b)
	return true
}

// close closes stdin once all that was posted is written. It does not wait.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.add(nil)
}

func (in *input) add(b []byte) {
	in.queue = append(in.queue, b)
	if !in.writing {
		in.writing = true
		go in.write() // the program may not read
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
	run.in.post([]byte(p.Input))
	t, talks := r.(Talker)
	if talks {
		t.Begin()
		interrupt = t.Interrupt
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
	run.During(func() { err = run.sink.Started(c.process) }) // the server may be away
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

// startFailure returns the error that blames the program itself; nil for others.
func startFailure(err error) *startError {
	var s *startError
	errors.As(err, &s)
	return s
}
