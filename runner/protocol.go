package runner

import (
	"encoding/json"
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
	transcript
	held   string  // a line that is the result if it is the last one
	result *result // what held says
	blanks int     // blank lines since held
}

func newProtocol(spec Spec, sink Sink, st *stopper) *protocol {
	p := &protocol{transcript: newTranscript(spec, sink, st)}
	p.streams[stdout].lines.emit = p.stdoutLine
	p.streams[stderr].lines.emit = p.stderrLine
	return p
}

// end gives out what would have been the result of a run that did not
// complete: it belongs to the transcript.
func (p *protocol) end(out *Outcome) {
	if out.Status != task.RunCompleted {
		p.release()
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
	ev.Text = clean(p.red.Text(ev.Text))
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
	p.emit(ev, line)
}
