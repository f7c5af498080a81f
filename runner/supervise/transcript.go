package supervise

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// reasonTail is how many characters of output a reason quotes.
const reasonTail = 1500

// Clean returns a text that may be stored: without secrets, invalid UTF-8 and
// NUL.
func (r *Run) Clean(text string) string { return task.CleanText(r.red.Text(text)) }

// CleanJSON returns a JSON value whose strings are clean and whose objects have
// no duplicate names; nil if raw is not one.
func (r *Run) CleanJSON(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	// Return clean input unchanged: a model that receives its calls again must
	// find them as it wrote them. IsValid rejects duplicate names.
	if bytes.IndexByte(raw, '\\') < 0 && jsontext.Value(raw).IsValid() && r.red.Text(string(raw)) == string(raw) {
		return bytes.Clone(raw)
	}
	if !json.Valid(raw) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(r.cleanValue(v)) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

func (r *Run) cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return r.Clean(v)
	case []any:
		for i := range v {
			v[i] = r.cleanValue(v[i])
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, val := range v {
			m[r.Clean(key)] = r.cleanValue(val)
		}
		return m
	}
	return v
}

// Redactor returns a redactor for a text that arrives in pieces.
func (r *Run) Redactor() *task.Redactor { return r.red.Fresh() }

// Event reports an action or output of the agent and updates the counters: text
// is kept for the summary, tool calls and usage are summed. data, nil for none,
// is marshaled; both are cleaned. line, which must be clean, goes to the
// overflow file if the event is too large; nil: text and data.
func (r *Run) Event(typ, text string, data any, line []byte) {
	ev := r.event(typ, text, data)
	switch typ {
	case EventText:
		r.text.Add(ev.Text + "\n")
	case EventToolCall:
		r.Usage.ToolCalls++
	case EventUsage:
		r.AddUsage(ev.Data)
	}
	r.report(ev, line)
}

// Report is like Event, without counters and without a line.
func (r *Run) Report(typ, text string, data any) { r.report(r.event(typ, text, data), nil) }

func (r *Run) event(typ, text string, data any) Event {
	ev := Event{Type: typ, Text: r.Clean(text)}
	if raw, ok := data.(json.RawMessage); ok {
		ev.Data = r.CleanJSON(raw)
	} else if data != nil {
		if raw, err := json.Marshal(data); err == nil {
			ev.Data = r.CleanJSON(raw)
		}
	}
	return ev
}

// report passes on an event, which may exceed the size limit.
func (r *Run) report(ev Event, line []byte) {
	if line == nil {
		line = []byte(strings.TrimSpace(ev.Text + " " + string(ev.Data)))
	}
	if len(ev.Text)+len(ev.Data) > MaxEvent {
		if !r.out.overflowed {
			r.out.Overflow(append(line[:len(line):len(line)], '\n'))
		}
		if len(ev.Data) > MaxEvent/2 {
			ev.Data = fmt.Appendf(nil, `{"cut":true,"bytes":%d}`, len(ev.Data))
		}
		if room := MaxEvent - len(ev.Data) - noteRoom; len(ev.Text) > room {
			ev.Text = task.CutText(ev.Text, room) + "\n[cut: the whole event is in the file " + overflowName + "]"
		}
	}
	r.out.Event(ev, line)
}

// Note adds a note about the transcript or the run itself; there is always room
// for it.
func (r *Run) Note(text string) { r.out.note(r.red.Text(text)) }

// TextLine reports a line of stdout as text, which may become the summary.
func (r *Run) TextLine(kind LineKind, b []byte) { r.keepLine(&r.text, EventText, kind, b) }

// LogLine reports a line of stdout that is not part of the agent's protocol.
func (r *Run) LogLine(kind LineKind, b []byte) { r.line(EventLog, kind, b) }

func (r *Run) stderrLine(kind LineKind, b []byte) { r.keepLine(&r.errorTail, EventLog, kind, b) }

// keepLine emits a text event and keeps the end of the text.
func (r *Run) keepLine(end *Tail, typ string, kind LineKind, b []byte) {
	end.Add(r.line(typ, kind, b))
	if kind == WholeLine {
		end.Add("\n")
	}
}

// line emits a text event and returns the text. What exceeds the size of an
// event goes to the overflow file.
func (r *Run) line(typ string, kind LineKind, b []byte) string {
	if kind == LongRest || kind == LongEnd {
		r.SpillLine(kind, b)
		return ""
	}
	ev := Event{Type: typ, Text: task.CleanText(string(b))}
	if kind == PartialLine {
		ev.Data = json.RawMessage(`{"partial":true}`)
	}
	fits := len(ev.Text)+len(ev.Data) <= MaxEvent
	if kind == LongLine {
		fits = len(ev.Text) <= MaxEvent-noteRoom
	}
	if !fits && !r.out.overflowed {
		r.out.Overflow(b)
		if kind != LongLine {
			r.out.Overflow([]byte{'\n'})
		}
	}
	if !fits || kind == LongLine {
		ev.Text = task.CutText(ev.Text, MaxEvent-noteRoom) +
			"\n[cut: the line is too long for the transcript; the rest is in the file " + overflowName + "]"
	}
	if kind == PartialLine || kind == LongLine {
		r.out.begin(ev, b)
	} else {
		r.out.Event(ev, b)
	}
	return ev.Text
}

// SpillLine writes the part of a long line that exceeds an event to the
// overflow file, or all of a raw line, with a note.
func (r *Run) SpillLine(kind LineKind, b []byte) {
	if r.raw {
		red := r.streams[Stdout].red
		if kind == LongLine {
			r.out.note("A line of the program is too long for the transcript; it is in the file " + overflowName + ".")
		}
		if kind == LongEnd {
			b = red.Close()
		} else {
			b = red.Write(b)
		}
		r.out.Overflow(b)
		b = nil
	}
	if kind == LongEnd {
		b = []byte{'\n'}
	}
	r.out.Overflow(b)
}

// LastText returns the end of the agent's text, at most task.MaxSummaryRun
// characters.
func (r *Run) LastText() string { return r.text.Last(task.MaxSummaryRun) }

// Stderr returns the end of stderr, at most 1,500 characters.
func (r *Run) Stderr() string { return r.errorTail.Last(reasonTail) }

// LastOutput returns the end of stderr, or of the text if stderr is empty,
// formatted as the end of a reason: ": text", or "".
func (r *Run) LastOutput() string {
	words := r.Stderr()
	if words == "" {
		words = r.text.Last(reasonTail)
	}
	if words == "" {
		return ""
	}
	return ": " + words
}
