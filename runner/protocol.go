package runner

import (
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/task"
)

// protocol reads what a command says: lines of text, lines that are typed
// events, and a last line that may be its result. Errors and progress go to
// its stderr.
//
// A typed event is a line such as
//
//	{"type":"tool_call","text":"read main.go","data":{"path":"main.go"}}
//
// with the type text, log, tool_call, tool_result or usage. The data of usage
// is {"tokensIn":1,"tokensOut":2,"costUsd":0.01}, each to be added up. A
// result is a last line such as
//
//	{"summary":"what was done","success":true,"artifacts":["notes.md"]}
//
// with at least one of these names.
type protocol struct {
	out     *emitter
	red     *redactor // for whole values; the streams have their own
	streams [streams]struct {
		red   *redactor
		lines lineBuffer
	}
	limits task.Limits
	st     *stopper

	held   string  // a line that is the result if it is the last one
	result *result // what held says
	blanks int     // blank lines since held
	said   tail    // the end of the text
	cried  tail    // the end of stderr
	usage  task.Usage
}

func newProtocol(spec Spec, sink Sink, st *stopper) *protocol {
	secrets := append([]string{spec.Token}, spec.Secrets...)
	p := &protocol{
		out: &emitter{sink: sink, dir: spec.Dir}, red: newRedactor(secrets), limits: spec.Plan.Limits, st: st,
		said: tail{limit: 4 * task.MaxSummaryRun}, cried: tail{limit: 4 * task.MaxReason},
	}
	for s, emit := range []func(lineKind, []byte){p.stdoutLine, p.stderrLine} {
		p.streams[s].red = newRedactor(secrets)
		p.streams[s].lines.emit = emit
	}
	return p
}

func (p *protocol) Output(s stream, b []byte) {
	p.streams[s].lines.Write(p.streams[s].red.Write(b))
}

func (p *protocol) Quiet(s stream) { p.streams[s].lines.Flush() }

func (p *protocol) Closed(s stream) {
	p.streams[s].lines.Write(p.streams[s].red.Close())
	p.streams[s].lines.Close()
}

func (p *protocol) Flooded() bool { return p.out.over || p.streams[stdout].lines.long }

func (p *protocol) stderrLine(kind lineKind, b []byte) {
	switch kind {
	case longRest, longEnd:
		p.rest(kind, b)
	default:
		text := p.line(EventLog, kind, b)
		p.cried.add(text)
		if kind == wholeLine {
			p.cried.add("\n")
		}
	}
}

func (p *protocol) stdoutLine(kind lineKind, b []byte) {
	switch {
	case kind == longRest || kind == longEnd:
		p.rest(kind, b)
	case kind == wholeLine && isObject(b) && p.object(b):
	case kind == wholeLine && p.result != nil && len(strings.TrimSpace(string(b))) == 0:
		p.blanks++
	default:
		p.release()
		p.text(kind, b)
	}
}

func (p *protocol) text(kind lineKind, b []byte) {
	p.said.add(p.line(EventText, kind, b))
	if kind == wholeLine {
		p.said.add("\n")
	}
}

// line emits one event of text and returns the text. What an event cannot hold
// goes to the overflow file.
func (p *protocol) line(typ string, kind lineKind, b []byte) string {
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
		ev.Text = cutBytes(ev.Text, maxEvent-noteRoom) + "\n[cut: the line is too long for the transcript; the rest is in the file " + overflowName + "]"
	}
	p.out.Event(ev, b)
	return ev.Text
}

// rest puts what a long line has more than an event may hold into the file.
func (p *protocol) rest(kind lineKind, b []byte) {
	if kind == longEnd {
		b = []byte{'\n'}
	}
	p.out.Overflow(b)
}

// release gives out, as text, the line that turned out not to be the last.
func (p *protocol) release() {
	if p.result == nil {
		return
	}
	p.result = nil
	p.text(wholeLine, []byte(p.held))
	for ; p.blanks > 0; p.blanks-- {
		p.text(wholeLine, nil)
	}
}

// object handles a line that is an event or may be the result; false when it
// is neither.
func (p *protocol) object(b []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return false
	}
	if ev, ok := p.typed(fields); ok {
		p.release()
		p.typedEvent(ev, b)
		return true
	}
	res := p.resultOf(fields)
	if res == nil {
		return false
	}
	p.release()
	p.held, p.result = string(b), res
	return true
}

// typed reads a typed event.
func (p *protocol) typed(fields map[string]json.RawMessage) (Event, bool) {
	var ev Event
	if json.Unmarshal(fields["type"], &ev.Type) != nil {
		return ev, false
	}
	switch ev.Type {
	case EventText, EventLog, EventToolCall, EventToolResult, EventUsage:
	default:
		return ev, false
	}
	if raw, ok := fields["text"]; ok && json.Unmarshal(raw, &ev.Text) != nil {
		return ev, false
	}
	ev.Text = clean(p.red.text(ev.Text))
	ev.Data = cleanJSON(fields["data"], p.red)
	return ev, true
}

func (p *protocol) typedEvent(ev Event, line []byte) {
	switch ev.Type {
	case EventText:
		p.said.add(ev.Text + "\n")
	case EventToolCall:
		p.usage.ToolCalls++
	case EventUsage:
		p.addUsage(ev.Data)
	}
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
