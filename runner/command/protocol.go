package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// protocol parses the output of a command: lines of text, lines that are typed
// events, and a last line that may be its result. Errors and progress go to its
// stderr.
//
// A typed event is a line such as
//
//	{"type":"tool_call","text":"read main.go","data":{"path":"main.go"}}
//
// with the type text, log, tool_call, tool_result or usage. The data of usage
// is {"tokensIn":1,"tokensOut":2,"costUsd":0.01}; the values are summed. See
// supervise.Result for a result.
type protocol struct {
	*supervise.Run
	held   string            // a line that is the result if no other line follows
	result *supervise.Result // the result in held
	blanks int               // blank lines since held
}

func newProtocol(r *supervise.Run) *protocol {
	p := &protocol{Run: r}
	r.ReadLines(false, p.line)
	return p
}

// End emits the pending result line of a run that did not complete as part of
// the transcript.
func (p *protocol) End(out *supervise.Outcome) {
	if out.Status != task.RunCompleted {
		p.release()
	}
}

func (p *protocol) line(kind supervise.LineKind, b []byte) {
	switch {
	case kind == supervise.LongRest || kind == supervise.LongEnd:
		p.SpillLine(kind, b)
	case kind == supervise.WholeLine && supervise.IsObject(b) && p.object(b):
	case kind == supervise.WholeLine && p.result != nil && len(strings.TrimSpace(string(b))) == 0:
		p.blanks++
	default:
		p.release()
		p.TextLine(kind, b)
	}
}

// release emits the held line as text when another line follows.
func (p *protocol) release() {
	if p.result == nil {
		return
	}
	p.result = nil
	p.TextLine(supervise.WholeLine, []byte(p.held))
	for ; p.blanks > 0; p.blanks-- {
		p.TextLine(supervise.WholeLine, nil)
	}
}

// object handles a line that is an event or may be the result; it returns false
// if the line is neither.
func (p *protocol) object(b []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return false
	}
	if typ, text, ok := typed(fields); ok {
		p.release()
		p.Event(typ, text, fields["data"], b)
		return true
	}
	res := p.ParseResult(fields)
	if res == nil {
		return false
	}
	p.release()
	p.held, p.result = string(b), res
	return true
}

// typed parses a typed event.
func typed(fields map[string]json.RawMessage) (typ, text string, ok bool) {
	if json.Unmarshal(fields["type"], &typ) != nil {
		return "", "", false
	}
	switch typ {
	case supervise.EventText, supervise.EventLog, supervise.EventToolCall, supervise.EventToolResult, supervise.EventUsage:
	default:
		return "", "", false
	}
	if raw, given := fields["text"]; given && json.Unmarshal(raw, &text) != nil {
		return "", "", false
	}
	return typ, text, true
}

// Verdict returns how a program ended that was not stopped. We decide, not the
// program: the run completed only if the program exited by itself with code 0
// and a result, and did not report a failure.
func (p *protocol) Verdict(e supervise.Exit) supervise.Outcome {
	if !e.Crashed() && e.Code != 0 && p.result.Failed() && p.result.Summary != "" {
		return supervise.Failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", e.Code, p.result.Summary))
	}
	if abnormal := p.Abnormal(e); abnormal != nil {
		return *abnormal
	}
	return p.Judge(p.result)
}
