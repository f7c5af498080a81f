package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"taskyard/task"
)

// claudeReader reads the stream-json of a program and answers what it asks.
// Its stdout is read as it is, because what a call was asked with must go back
// unchanged; secrets are taken out of each event.
type claudeReader struct {
	transcript
	sink     Sink
	plan     task.Spec
	dir      string
	writable []string // the only folders that can be written; nil: all
	link     link
	session  string
	result   *claudeResult
	ended    atomic.Bool // a result was seen: the program is about to end
	lines    int         // understood, besides retries
	counted  map[string]claudeUsage
	denied   map[string]int // refused calls by tool
	trouble  string         // the last word for an error of the model
}

func newClaudeReader(spec Spec, sink Sink, st *stopper) *claudeReader {
	r := &claudeReader{
		transcript: newTranscript(spec, sink, st), sink: sink, plan: spec.Plan, dir: spec.Dir,
		counted: map[string]claudeUsage{}, denied: map[string]int{},
	}
	r.streams[stdout].lines.emit = r.line
	r.streams[stderr].lines.emit = r.stderrLine
	return r
}

var _ talker = (*claudeReader)(nil)

// Attach takes the program's stdin.
func (r *claudeReader) Attach(l link) { r.link = l }

// Interrupt asks the program to stop. One that has given its result is not
// asked any more.
func (r *claudeReader) Interrupt() bool {
	if r.ended.Load() {
		return false
	}
	return r.link.in.Post([]byte(`{"type":"control_request","request_id":"taskyard-stop","request":{"subtype":"interrupt"}}` + "\n"))
}

// Output takes the next bytes. A model that is called again and again, and
// what is on stderr, is no progress.
func (r *claudeReader) Output(s stream, b []byte) bool {
	if s == stderr {
		r.transcript.Output(s, b)
		return false
	}
	before := r.lines
	r.streams[stdout].lines.Write(b)
	return r.lines > before || r.streams[stdout].lines.long
}

// Quiet passes on the beginning of a line of stderr alone.
func (r *claudeReader) Quiet(s stream) {
	if s == stderr {
		r.transcript.Quiet(s)
	}
}

// Closed takes the end of a stream.
func (r *claudeReader) Closed(s stream) {
	if s == stderr {
		r.transcript.Closed(s)
		return
	}
	r.streams[stdout].lines.Close()
}

// line takes one line of stdout.
func (r *claudeReader) line(kind lineKind, b []byte) {
	red := r.streams[stdout].red
	switch kind {
	case longLine:
		if id := longRequest.FindSubmatch(b); id != nil {
			r.deny(string(id[1]), "The arguments of this call are too long to be looked at.")
		}
		r.out.note("A line of the program is too long for the transcript; it is in the file " + overflowName + ".")
		r.out.Overflow(red.Write(b))
	case longRest:
		r.out.Overflow(red.Write(b))
	case longEnd:
		r.out.Overflow(red.Close())
		r.out.Overflow([]byte{'\n'})
	default:
		l, ok := readLine(b)
		if !ok {
			r.say(EventLog, string(b), nil)
			return
		}
		r.read(&l, b)
	}
}

func (r *claudeReader) read(l *claudeLine, raw []byte) {
	switch l.Type {
	case "system":
		r.system(l)
	case "assistant":
		r.lines++
		r.assistant(l)
	case "user":
		r.lines++
		r.user(l)
	case "control_request":
		r.lines++
		r.request(l)
	case "result":
		r.lines++
		r.take(readResult(raw))
	case "stream_event":
		r.lines++
	}
}

// say emits one event, without secrets. data may be nil.
func (r *claudeReader) say(typ, text string, data any) {
	ev := Event{Type: typ, Text: clean(r.red.Text(text))}
	if data != nil {
		raw, err := json.Marshal(data)
		if err == nil {
			ev.Data = r.scrub(raw)
		}
	}
	r.emit(ev, []byte(strings.TrimSpace(ev.Text+" "+string(ev.Data))))
}

// scrub takes the secrets out of a value, whatever it is escaped with.
func (r *claudeReader) scrub(raw json.RawMessage) json.RawMessage {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(cleanValue(v, r.red))
	if err != nil {
		return nil
	}
	return out
}

func (r *claudeReader) assistant(l *claudeLine) {
	r.count(l)
	if word := l.word(); word != "" {
		r.trouble = word
	}
	for _, b := range blocks(l.Message.Content) {
		switch b.Type {
		case "text":
			r.say(EventText, b.Text, nil)
			if l.Parent == "" {
				r.said.add(clean(r.red.Text(b.Text)) + "\n")
			}
		case "tool_use":
			r.usage.ToolCalls++
			r.say(EventToolCall, brief(b.Name, b.Input), map[string]any{"id": b.ID, "name": b.Name, "input": b.Input})
			if !r.offered(b.Name) {
				r.noteDenied(b.Name)
			}
		}
	}
}

func (r *claudeReader) user(l *claudeLine) {
	for _, b := range blocks(l.Message.Content) {
		if b.Type == "tool_result" {
			r.say(EventToolResult, plainText(b.Content), map[string]any{"id": b.CallID, "isError": b.IsError})
		}
	}
}

// brief names a call for people.
func brief(name string, input json.RawMessage) string {
	var args map[string]any
	_ = json.Unmarshal(input, &args)
	for _, key := range []string{"command", "file_path", "path", "pattern", "url", "description", "title"} {
		if text, ok := args[key].(string); ok && text != "" {
			return name + ": " + cutChars(text, 200)
		}
	}
	return name
}

// count notes what a message used, as far as is known before the result.
func (r *claudeReader) count(l *claudeLine) {
	if l.Message.ID == "" || len(r.counted) > 10_000 {
		return
	}
	id := cutChars(l.Message.ID, maxName)
	was, now := r.counted[id], l.Message.Usage
	r.counted[id] = now
	r.usage.TokensIn = addCount(r.usage.TokensIn, now.In-was.In+now.Written-was.Written)
	r.usage.TokensOut = addCount(r.usage.TokensOut, now.Out-was.Out)
	r.checkUsage()
}

// noteDenied counts a refused call for the warning at the end.
func (r *claudeReader) noteDenied(tool string) {
	if tool = cutChars(tool, maxName); len(r.denied) < maxDenied || r.denied[tool] > 0 {
		r.denied[tool]++
	}
}

// refused returns the tools whose calls were refused, with how many.
func refused(denied map[string]int) string {
	list := []string{}
	for name, n := range denied {
		if n > 1 {
			name = fmt.Sprintf("%s (%d times)", name, n)
		}
		list = append(list, name)
	}
	return sortedList(list)
}
