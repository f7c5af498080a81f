package runner

import (
	"encoding/json"
	"fmt"
	"syscall"

	"taskyard/task"
)

const reasonTail = 1500 // characters of output that a reason quotes

// transcript is what the readers of programs share: it turns what a program
// says into events, without secrets and up to the limits of a run, and keeps
// the end of it for the outcome.
type transcript struct {
	out     *emitter
	red     *redactor // for whole values; the streams have their own
	streams [streams]struct {
		red   *redactor
		lines lineBuffer
	}
	limits    task.Limits
	st        *stopper
	said      tail // the end of the text
	errorTail tail // the end of stderr
	usage     task.Usage
}

func newTranscript(spec Spec, sink Sink, st *stopper) transcript {
	red := newRedactor(spec)
	p := transcript{
		out: &emitter{sink: sink, dir: spec.Dir}, red: red, limits: spec.Plan.Limits, st: st,
		said: tail{limit: 4 * task.MaxSummaryRun}, errorTail: tail{limit: 4 * task.MaxReason},
	}
	for s := range p.streams {
		p.streams[s].red = red.Fresh()
	}
	return p
}

func (p *transcript) log() *transcript { return p }

func (p *transcript) Output(s stream, b []byte) bool {
	p.streams[s].lines.Write(p.streams[s].red.Write(b))
	return true
}

func (p *transcript) Quiet(s stream) { p.streams[s].lines.Flush() }

func (p *transcript) Closed(s stream) {
	p.streams[s].lines.Write(p.streams[s].red.Close())
	p.streams[s].lines.Close()
}

func (p *transcript) Flooded() bool { return p.out.over || p.streams[stdout].lines.long }

func (p *transcript) stderrLine(kind lineKind, b []byte) {
	switch kind {
	case longRest, longEnd:
		p.rest(kind, b)
	default:
		text := p.line(EventLog, kind, b)
		p.errorTail.add(text)
		if kind == wholeLine {
			p.errorTail.add("\n")
		}
	}
}

// line emits one event of text and returns the text. What an event cannot hold
// goes to the overflow file.
func (p *transcript) line(typ string, kind lineKind, b []byte) string {
	ev := Event{Type: typ, Text: clean(string(b))}
	if kind == partialLine {
		ev.Data = json.RawMessage(`{"partial":true}`)
	}
	fits := len(ev.Text)+len(ev.Data) <= maxEvent
	if kind == longLine {
		fits = len(ev.Text) <= maxEvent-noteRoom
	}
	if !fits && !p.out.over {
		p.out.Overflow(b)
		if kind != longLine {
			p.out.Overflow([]byte{'\n'})
		}
	}
	if !fits || kind == longLine {
		ev.Text = cutBytes(ev.Text, maxEvent-noteRoom) +
			"\n[cut: the line is too long for the transcript; the rest is in the file " + overflowName + "]"
	}
	if kind == partialLine || kind == longLine {
		p.out.begin(ev, b)
	} else {
		p.out.Event(ev, b)
	}
	return ev.Text
}

// rest puts what a long line has more than an event may hold into the file.
func (p *transcript) rest(kind lineKind, b []byte) {
	if kind == longEnd {
		b = []byte{'\n'}
	}
	p.out.Overflow(b)
}

// emit emits an event that may be larger than one; line, redacted, is what then
// goes to the overflow file.
func (p *transcript) emit(ev Event, line []byte) {
	if len(ev.Text)+len(ev.Data) > maxEvent {
		if !p.out.over {
			p.out.Overflow(append(line[:len(line):len(line)], '\n'))
		}
		if len(ev.Data) > maxEvent/2 {
			ev.Data = fmt.Appendf(nil, `{"cut":true,"bytes":%d}`, len(ev.Data))
		}
		if room := maxEvent - len(ev.Data) - noteRoom; len(ev.Text) > room {
			ev.Text = cutBytes(ev.Text, room) + "\n[cut: the whole event is in the file " + overflowName + "]"
		}
	}
	p.out.Event(ev, line)
}

// lastWords quotes the end of stderr, or of stdout when stderr is empty.
func (p *transcript) lastWords() string {
	words := p.errorTail.String(reasonTail)
	if words == "" {
		words = p.said.String(reasonTail)
	}
	if words == "" {
		return ""
	}
	return ": " + words
}

// crashed reports whether the program, or the shim, was killed by others.
func crashed(r report) bool { return !r.Ended || r.Signal != 0 }

// crash is the outcome of such an end.
func (p *transcript) crash(r report) Outcome {
	if !r.Ended {
		return failed(task.PhaseCrash, "Its supervising process was killed")
	}
	return failed(task.PhaseCrash, fmt.Sprintf("It was killed by signal %d (%v)", r.Signal, syscall.Signal(r.Signal))+p.lastWords())
}

// checkUsage stops the program over a limit.
func (p *transcript) checkUsage() {
	if used, limit := p.usage.TokensIn+p.usage.TokensOut, p.limits.MaxTokens; limit > 0 && used > limit {
		p.st.Stop(failed(task.PhaseTokens, fmt.Sprintf("It used %d tokens of at most %d", used, limit)))
	}
	if used, limit := p.usage.CostUSD, p.limits.MaxCostUSD; limit > 0 && used > limit {
		p.st.Stop(failed(task.PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", used, limit)))
	}
}
