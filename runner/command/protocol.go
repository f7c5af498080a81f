package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/runner/supervise"
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
// result is described at supervise.Result.
type protocol struct {
	*supervise.Run
	held   string            // a line that is the result if it is the last one
	result *supervise.Result // what held says
	blanks int               // blank lines since held
}

func newProtocol(r *supervise.Run) *protocol {
	p := &protocol{Run: r}
	r.ReadLines(false, p.line)
	return p
}

// End emits what would have been the result of a run that did not
// complete: it belongs to the transcript.
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

// release emits, as text, the line that turned out not to be the last.
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

// object handles a line that is an event or may be the result; false when it
// is neither.
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

// typed reads a typed event.
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

// Verdict says how a program ended that we did not stop. It is ours, not the
// program's: completed only if it ended by itself, with exit code 0, with a
// result, and did not say that it failed.
func (p *protocol) Verdict(e supervise.Exit) supervise.Outcome {
	if !e.Crashed() && e.Code != 0 && p.result.Failed() && p.result.Summary != "" {
		return supervise.Failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", e.Code, p.result.Summary))
	}
	if bad := p.Abnormal(e); bad != nil {
		return *bad
	}
	return p.Judge(p.result)
}
