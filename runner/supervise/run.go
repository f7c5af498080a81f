package supervise

import (
	"context"
	"sync"
	"time"

	"taskyard/task"
)

// Run is one run as its runner sees it: its transcript, which holds no
// secret and stays within bounds, a clock that pauses while people are waited
// for, and the first reason to stop. The transcript is for one goroutine at a
// time; Stop, EndSoon, Stopped, Send, CloseInput, Permit and the clock are safe for
// concurrent use.
//
// A kind of runner embeds a Run and adds what its agent says and hears. As it
// is, a Run is the Reader of a program that prints text.
type Run struct {
	Spec  Spec
	Work  string     // the working folder of the run, absolute
	Usage task.Usage // so far

	sink    Sink
	out     emitter
	red     *task.Redactor // for whole values; the streams have their own
	streams [streams]struct {
		red   *task.Redactor
		lines lineBuffer
	}
	raw       bool // lines of stdout are given as they are, with secrets
	said      Tail // the end of the text
	errorTail Tail // the end of stderr

	kept string // what the program calls its session

	clock *clock
	ctx   context.Context // ends when the program is being stopped, or has ended
	in    *input          // nil: there is no program

	grace time.Duration // for a program that has said its result

	mu      sync.Mutex
	stopped *Outcome
	asked   chan struct{} // closed when stopped is set
	reached *Outcome      // what EndSoon was last given
	linger  *time.Timer   // stops a program that stays
}

// NewRun makes the Run of a start. The clock starts at once, or with the program.
func NewRun(spec Spec, sink Sink) *Run {
	red := NewRedactor(spec)
	r := &Run{
		Spec: spec, Work: workDir(spec), sink: sink, out: emitter{sink: sink, dir: spec.Dir}, red: red,
		said: Tail{Limit: 4 * task.MaxSummaryRun}, errorTail: Tail{Limit: 4 * task.MaxReason},
		clock: newClock(time.Now()), ctx: context.Background(), asked: make(chan struct{}),
	}
	for i := range r.streams {
		r.streams[i].red = red.Fresh()
	}
	r.streams[Stdout].lines.emit = r.TextLine
	r.streams[Stderr].lines.emit = r.stderrLine
	return r
}

// Stop asks for the end of the run; o is what it then becomes. Only the first
// call counts.
func (r *Run) Stop(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == nil {
		r.stopped = &o
		close(r.asked)
	}
}

// EndSoon says that the program has said its result: it gets the grace of a stop
// to end by itself. Then, or at a limit of time or a stop of the server before, it
// is stopped, and the run becomes o. Nil: it works on, and what was said before
// does not count.
func (r *Run) EndSoon(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.linger != nil {
		r.linger.Stop()
	}
	if r.reached = o; o != nil {
		r.linger = time.AfterFunc(r.grace, func() { r.Stop(*o) })
	}
}

// expire stops the run at a limit of time, or because the server stops. One that
// has said its result has reached that.
func (r *Run) expire(o Outcome) {
	r.mu.Lock()
	if r.reached != nil {
		o = *r.reached
	}
	r.mu.Unlock()
	r.Stop(o)
}

// Stopped is what Stop was first given; nil if it was not called.
func (r *Run) Stopped() *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// Cut is the outcome of work whose context ended: that of Stop, else that of
// the context's cause.
func (r *Run) Cut(ctx context.Context) Outcome {
	if o := r.Stopped(); o != nil {
		return *o
	}
	return Canceled(context.Cause(ctx))
}

// Context ends when the program is being stopped, or has ended.
func (r *Run) Context() context.Context { return r.ctx }

// Send queues a message for the program's stdin. It returns false when the
// program has left too much unread.
func (r *Run) Send(b []byte) bool { return r.in.post(b) }

// CloseInput ends the program's stdin once all that was sent is written. It
// does not wait.
func (r *Run) CloseInput() { r.in.close() }

// During runs f, for which the agent waits, with the idle clock paused.
func (r *Run) During(f func()) { r.clock.during(func() bool { f(); return true }) }

// Progress ends an idle time; the next one begins after d.
func (r *Run) Progress(d time.Duration) { r.clock.grant(d) }

// holder is a sink that reserves what a turn of a model can use at most.
type holder interface {
	// HoldTurn blocks while turns of other runs hold what this one needs.
	HoldTurn(context.Context, task.Turn) (task.TurnGrant, error)
	ReleaseTurn()
}

// HoldTurn reserves what the next turn of a model can use at most, and returns
// how long its reply may be. While it waits for turns of other runs, the run is
// not idle. release follows when the use of the turn was reported, and can be
// called again.
func (r *Run) HoldTurn(ctx context.Context, most task.Turn) (grant task.TurnGrant, release func(), err error) {
	h, ok := r.sink.(holder)
	if !ok {
		return task.TurnGrant{Out: most.Out}, func() {}, nil
	}
	r.During(func() { grant, err = h.HoldTurn(ctx, most) })
	return grant, h.ReleaseTurn, err
}

// Condensing tells the sink that the agent is about to sum up what it did. An
// error means that it must not.
func (r *Run) Condensing() error {
	if c, ok := r.sink.(interface{ Condensing() error }); ok {
		return c.Condensing()
	}
	return nil
}
