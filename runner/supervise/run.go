package supervise

import (
	"context"
	"sync"
	"time"

	"taskyard/task"
)

// Run is one run as its runner sees it: a transcript, which is redacted and
// bounded, a clock that pauses while people are waited for, and the first
// reason to stop. The transcript must be used by one goroutine at a time; Stop,
// EndSoon, Stopped, Send, CloseInput, Permit and the clock are safe for
// concurrent use.
//
// A kind of runner embeds a Run and adds the protocol of its agent. By itself,
// a Run is the Reader of a program that prints text.
type Run struct {
	Spec  Spec
	Work  string     // working folder of the run, absolute
	Usage task.Usage // so far

	sink    Sink
	out     emitter
	red     *task.Redactor // for whole values; the streams have their own
	streams [streams]struct {
		red   *task.Redactor
		lines lineBuffer
	}
	raw       bool // lines of stdout are not redacted
	text      Tail // the end of the text
	errorTail Tail // the end of stderr

	kept string // the program's name for its session

	clock *clock
	ctx   context.Context // ends when the program is being stopped, or has ended
	in    *input          // nil: there is no program

	grace time.Duration // for a program that has reported its result

	mu            sync.Mutex
	stopped       *Outcome
	stopRequested chan struct{} // closed when stopped is set
	endOutcome    *Outcome      // last argument of EndSoon
	exitTimer     *time.Timer   // stops a program that does not exit
}

// NewRun returns the Run of an attempt. The clock starts at once, or with the
// program.
func NewRun(spec Spec, sink Sink) *Run {
	red := NewRedactor(spec)
	r := &Run{
		Spec: spec, Work: workDir(spec), sink: sink, out: emitter{sink: sink, dir: spec.Dir}, red: red,
		text: Tail{Limit: 4 * task.MaxSummaryRun}, errorTail: Tail{Limit: 4 * task.MaxReason},
		clock: newClock(time.Now()), ctx: context.Background(), stopRequested: make(chan struct{}),
	}
	for i := range r.streams {
		r.streams[i].red = red.Fresh()
	}
	r.streams[Stdout].lines.emit = r.TextLine
	r.streams[Stderr].lines.emit = r.stderrLine
	return r
}

// Stop stops the run with outcome o. Only the first call has an effect.
func (r *Run) Stop(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == nil {
		r.stopped = &o
		close(r.stopRequested)
	}
}

// EndSoon records that the program has reported its result. The program may
// take the grace period to exit. After that, or if a time limit is reached or
// the server stops before that, it is stopped with outcome o. nil means that it
// is working again, and cancels the earlier call.
func (r *Run) EndSoon(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exitTimer != nil {
		r.exitTimer.Stop()
	}
	if r.endOutcome = o; o != nil {
		r.exitTimer = time.AfterFunc(r.grace, func() { r.Stop(*o) })
	}
}

// expire stops the run at a time limit, or because the server stops. A run that
// has reported its result keeps the outcome of that.
func (r *Run) expire(o Outcome) {
	r.mu.Lock()
	if r.endOutcome != nil {
		o = *r.endOutcome
	}
	r.mu.Unlock()
	r.Stop(o)
}

// Stopped returns the outcome of the first call of Stop; nil if it was not
// called.
func (r *Run) Stopped() *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// Cut returns the outcome of work whose context ended: that of Stop, or else
// that of the context's cause.
func (r *Run) Cut(ctx context.Context) Outcome {
	if o := r.Stopped(); o != nil {
		return *o
	}
	return Canceled(context.Cause(ctx))
}

// Context returns a context that ends when the program is being stopped, or has
// ended.
func (r *Run) Context() context.Context { return r.ctx }

// Send queues a message for the program's stdin. It returns false if the
// program has too many unread messages.
func (r *Run) Send(b []byte) bool { return r.in.post(b) }

// CloseInput closes the program's stdin after everything queued is written. It
// does not wait.
func (r *Run) CloseInput() { r.in.close() }

// During calls f, which the agent waits for, with the idle timeout paused.
func (r *Run) During(f func()) { r.clock.during(func() bool { f(); return true }) }

// Progress resets the idle time and delays its start by d.
func (r *Run) Progress(d time.Duration) { r.clock.grant(d) }

// turnHolder is a sink that reserves what the next turn of a model can use at most.
type turnHolder interface {
	// HoldTurn blocks while turns of other runs have reserved what this one
	// needs.
	HoldTurn(context.Context, task.Turn) (task.TurnGrant, error)
	ReleaseTurn()
}

// HoldTurn reserves what the next turn of a model can use at most, and returns
// how long its reply may be. Waiting for turns of other runs is not idle time.
// Call release after the usage of the turn was reported; it may be called
// again.
func (r *Run) HoldTurn(ctx context.Context, limit task.Turn) (grant task.TurnGrant, release func(), err error) {
	h, ok := r.sink.(turnHolder)
	if !ok {
		return task.TurnGrant{Out: limit.Out}, func() {}, nil
	}
	r.During(func() { grant, err = h.HoldTurn(ctx, limit) })
	return grant, h.ReleaseTurn, err
}

// Condensing notifies the sink that the agent is about to summarize its work.
// If it returns an error, the agent must not.
func (r *Run) Condensing() error {
	if c, ok := r.sink.(interface{ Condensing() error }); ok {
		return c.Condensing()
	}
	return nil
}
