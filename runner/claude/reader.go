package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"taskyard/runner/confine"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Bounds for names and IDs that a program sends.
const (
	maxName   = 200 // characters of one
	maxDenied = 100 // tools with denied calls

	maxRefusal = 500 // bytes of a failure reason that describe the denied call
)

// reader reads the stream-json of a program and answers its requests. Its
// stdout is read without redaction, because the input of a call must be
// returned unchanged; secrets are removed from each event.
type reader struct {
	*supervise.Run
	writable   []string // the only writable folders; nil: all
	result     *result
	last       *longResult // that is being read
	ended      atomic.Bool // a result was seen: the program is about to end
	progressed bool        // the last bytes given to Output were progress
	counted    map[string]usage
	denied     map[string]int // denied calls by tool
	refusal    string         // the last denied call and the reason; "" after another was allowed
	modelError string         // the program's last word for a model error
	inbox      inbox
}

// newReader returns the reader of a run, with rules or nil.
func newReader(run *supervise.Run, rules *confine.Rules) *reader {
	r := &reader{Run: run, counted: map[string]usage{}, denied: map[string]int{}}
	if rules != nil {
		r.writable = rules.Writable
	}
	run.ReadLines(true, r.line)
	return r
}

var _ supervise.InteractiveReader = (*reader)(nil)

// Begin does nothing: the prompt is the first message.
func (r *reader) Begin() {}

// Interrupt asks the program to stop, unless it has already sent its result.
func (r *reader) Interrupt() bool {
	if r.ended.Load() {
		return false
	}
	return r.Send([]byte(`{"type":"control_request","request_id":"taskyard-stop","request":{"subtype":"interrupt"}}` + "\n"))
}

// Output handles output. Repeated model calls, and stderr, are not progress.
func (r *reader) Output(s supervise.Stream, b []byte) bool {
	r.progressed = false
	r.Run.Output(s, b)
	return r.progressed
}

// line handles one line of stdout.
func (r *reader) line(kind supervise.LineKind, b []byte) {
	switch kind {
	case supervise.LongLine, supervise.LongRest, supervise.LongEnd:
		r.handleLongLine(kind, b)
	default:
		l, ok := readLine(b)
		if !ok {
			r.Report(supervise.EventLog, string(b), nil)
			return
		}
		r.read(&l, b)
	}
}

func (r *reader) read(l *line, raw []byte) {
	switch l.Type {
	case "system":
		r.system(l)
	case "assistant":
		r.noteProgress()
		r.countTurn(l)
		r.assistant(l)
	case "user":
		r.progressed = true
		if l.Replay {
			r.messageReceived(l.UUID)
			return
		}
		r.noteProgress()
		r.user(l)
	case "control_request":
		r.noteProgress()
		r.request(l)
	case "result":
		r.progressed = true
		r.handleResult(readResult(raw))
	case "stream_event":
		r.noteProgress()
	}
}

// noteProgress records progress: an earlier result was not the last one.
func (r *reader) noteProgress() {
	r.progressed = true
	r.EndSoon(nil)
}

func (r *reader) assistant(l *line) {
	r.count(l)
	if word := l.word(); word != "" {
		r.modelError = word
	}
	for _, b := range blocks(l.Message.Content) {
		switch b.Type {
		case "text":
			if l.Parent == "" {
				r.Event(supervise.EventText, b.Text, nil, nil)
			} else { // of a subagent
				r.Report(supervise.EventText, b.Text, nil)
			}
		case "tool_use":
			r.Event(supervise.EventToolCall, brief(b.Name, b.Input), map[string]any{"id": b.ID, "name": b.Name, "input": b.Input}, nil)
			if !r.isOffered(b.Name) {
				r.noteDenied(b.Name)
			}
		}
	}
}

func (r *reader) user(l *line) {
	for _, b := range blocks(l.Message.Content) {
		if b.Type == "tool_result" {
			r.Report(supervise.EventToolResult, plainText(b.Content), map[string]any{"id": b.CallID, "isError": b.IsError})
		}
	}
}

// brief describes a call for people.
func brief(name string, input json.RawMessage) string {
	var args map[string]any
	_ = json.Unmarshal(input, &args)
	for _, key := range []string{"command", "file_path", "path", "pattern", "url", "description", "title"} {
		if text, ok := args[key].(string); ok && text != "" {
			return name + ": " + task.ClipChars(text, 200)
		}
	}
	return name
}

// count adds the usage of a message, as far as it is known before the result.
func (r *reader) count(l *line) {
	if l.Message.ID == "" || len(r.counted) > 10_000 {
		return
	}
	id := task.ClipChars(l.Message.ID, maxName)
	before, now := r.counted[id], l.Message.Usage
	r.counted[id] = now
	r.Usage.TokensIn = supervise.AddTokens(r.Usage.TokensIn, now.In-before.In+now.Written-before.Written)
	r.Usage.TokensOut = supervise.AddTokens(r.Usage.TokensOut, now.Out-before.Out)
	r.CheckUsage()
}

// noteDenied counts a denied call for the warning at the end.
func (r *reader) noteDenied(tool string) {
	if tool = task.ClipChars(tool, maxName); len(r.denied) < maxDenied || r.denied[tool] > 0 {
		r.denied[tool]++
	}
}

// refused lists the tools with denied calls and their counts.
func refused(denied map[string]int) string {
	list := []string{}
	for name, n := range denied {
		if n > 1 {
			name = fmt.Sprintf("%s (%d times)", name, n)
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
