package runner

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"taskyard/task"
)

// maxArtifacts bounds the changed files that a run reports.
const maxArtifacts = 100

// codexTalk reads the lines of `codex exec --json`.
type codexTalk struct {
	*protocol
	work      string        // the working folder
	thread    string        // id of the conversation
	keeper    SessionKeeper // remembers it; may be nil
	over      bool          // turn.completed was seen
	failure   string        // what turn.failed said
	trouble   string        // the last error that was no note
	last      string        // the last message of the agent
	artifacts []string
	maxTurns  int  // 0: no limit
	turns     int  // begun so far
	answered  bool // a call ended since the last turn began
	moved     bool // what Output was last given got anywhere
}

func newCodexTalk(p *protocol, work string) *codexTalk {
	t := &codexTalk{protocol: p, work: work}
	p.streams[stdout].lines.emit = t.line
	return t
}

// Output reads lines. It is no progress to connect again, nor what is on
// stderr: Codex complains there for ever.
func (t *codexTalk) Output(s stream, b []byte) bool {
	t.moved = false
	t.protocol.Output(s, b)
	return t.moved
}

// codexLine is one line of JSON.
type codexLine struct {
	Type     string     `json:"type"`
	ThreadID string     `json:"thread_id"`
	Message  string     `json:"message"`
	Item     *codexItem `json:"item"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		In  float64 `json:"input_tokens"`
		Out float64 `json:"output_tokens"`
	} `json:"usage"`
}

func (t *codexTalk) line(kind lineKind, b []byte) {
	var l codexLine
	before := t.moved
	t.moved = true
	if kind != wholeLine || !isObject(b) || json.Unmarshal(b, &l) != nil || l.Type == "" {
		t.stdoutNoise(kind, b)
		return
	}
	switch l.Type {
	case "thread.started":
		t.begun(clean(l.ThreadID))
		t.event(EventLog, "thread "+clean(l.ThreadID), map[string]any{"threadId": clean(l.ThreadID)}, b)
	case "turn.completed":
		t.over = true
		t.event(EventUsage, "", map[string]any{"tokensIn": l.Usage.In, "tokensOut": l.Usage.Out}, b)
	case "turn.failed":
		t.failure = orElse(l.Error.Message, "it did not say why")
		t.event(EventError, l.Error.Message, nil, b)
	case "error":
		if t.complaint(l.Message, b) {
			t.moved = before
		}
	case "item.started", "item.completed":
		if l.Item != nil {
			t.countTurn(l.Item, l.Type == "item.completed")
			t.item(l.Item, l.Type == "item.completed", b)
		}
	}
}

// begun notes the conversation. An odd name is no name of a file.
func (t *codexTalk) begun(thread string) {
	t.thread = ""
	if sessionID.MatchString(thread) {
		t.thread = thread
		if t.keeper != nil {
			t.keeper.Session(thread)
		}
	}
}

// countTurn counts the turns of the model, of which Codex reports nothing: one
// begins with the first thing that it does after a call has ended. Several
// calls at once, which Codex makes one after another, count as so many.
func (t *codexTalk) countTurn(it *codexItem, done bool) {
	if it.Type == "error" || it.Type == "todo_list" {
		return
	}
	if t.turns == 0 || t.answered && (!done || !it.told()) {
		t.turns++
		t.answered = false
	}
	t.answered = t.answered || done && it.isCall()
	if t.maxTurns > 0 && t.turns > t.maxTurns {
		t.st.Stop(failed(task.PhaseTurns, fmt.Sprintf("It began turn %d of at most %d", t.turns, t.maxTurns)))
	}
}

// stdoutNoise keeps what is no line of the protocol for the reader.
func (p *protocol) stdoutNoise(kind lineKind, b []byte) {
	if kind == longRest || kind == longEnd {
		p.rest(kind, b)
		return
	}
	p.line(EventLog, kind, b)
}

// event hands on one event, bounded and without secrets.
func (p *protocol) event(typ, text string, data any, line []byte) {
	ev := Event{Type: typ, Text: clean(p.red.Text(text))}
	if data != nil {
		raw, err := json.Marshal(data)
		if err == nil {
			ev.Data = cleanJSON(raw, p.red)
		}
	}
	p.typedEvent(ev, line)
}

var (
	reconnecting = regexp.MustCompile(`(?i)^reconnecting\b`)
	unauthorized = regexp.MustCompile(`(?i)\b40[13] (unauthorized|forbidden)|incorrect api key|invalid_api_key|invalid api ` +
		`key|missing environment variable|not logged in|codex login|authentication required|token (has )?expired`)
)

// complaint handles an error line and reports whether it only says that Codex
// connects again. That is pointless with a refused key, and Codex
// might do it for ever.
func (t *codexTalk) complaint(message string, b []byte) (again bool) {
	if !reconnecting.MatchString(message) {
		t.trouble = message
		t.event(EventError, message, nil, b)
		return false
	}
	t.event(EventLog, message, nil, b)
	if unauthorized.MatchString(message) {
		t.st.Stop(refusedCredentials(t.red.Text(message)))
	}
	return true
}

// refusedCredentials is the outcome of a run whose model does not know us.
func refusedCredentials(reason string) Outcome {
	o := failed(task.PhaseAuth, "The model provider refused the credentials: "+reason)
	o.Permanent = true
	return o
}

// verdict: completed only when the end of the turn was seen and it ended well.
func (t *codexTalk) verdict(r report) Outcome {
	why := orElse(t.failure, t.trouble)
	switch stop := t.st.why(); {
	case stop != nil: // a limit was passed with its last line
		return *stop
	case !r.Ended || r.Signal != 0:
		return t.protocol.verdict(r)
	case why != "" && !t.over && unauthorized.MatchString(why):
		return refusedCredentials(why)
	case t.failure != "":
		return failed(task.PhaseError, "Its turn failed: "+t.failure)
	case r.Code != 0 && why != "":
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", r.Code, why))
	case r.Code != 0 && unauthorized.MatchString(t.errorTail.String(reasonTail)):
		return refusedCredentials(t.errorTail.String(reasonTail))
	case r.Code != 0:
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d", r.Code)+t.lastWords())
	case !t.over:
		return failed(task.PhaseProtocol, "It ended without saying that its turn is complete"+t.lastWords())
	case strings.TrimSpace(t.last) == "":
		return failed(task.PhaseError, "It ended without a result")
	}
	return Outcome{
		Status: task.RunCompleted, Phase: task.PhaseEnded,
		Summary: cutChars(strings.TrimSpace(t.last), task.MaxSummaryRun), Artifacts: t.artifacts,
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
