package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// reply is the reply of a step, independent of the format.
type reply struct {
	Step
	id    string
	model string
	usage Usage
}

func newReply(step Step, req Request, n int) reply {
	r := reply{Step: step, id: fmt.Sprintf("test_%d", n), model: req.Model, usage: step.Usage}
	if r.usage == (Usage{}) {
		r.usage = Usage{In: 10, Out: 5}
	}
	r.Calls = append([]Call(nil), step.Calls...)
	for i := range r.Calls {
		if r.Calls[i].ID == "" {
			r.Calls[i].ID = fmt.Sprintf("call_%d_%d", n, i)
		}
		if r.Calls[i].Args == "" {
			r.Calls[i].Args = "{}"
		}
	}
	return r
}

// pieces splits a text as a model would stream it. It also generates the pieces
// of a flood.
func (r reply) pieces(yield func(string) bool) {
	if r.Flood > 0 {
		piece := strings.Repeat("flood ", 40)
		for sent := 0; sent < r.Flood; sent += len(piece) {
			if !yield(piece) {
				return
			}
		}
		return
	}
	for _, p := range cut(r.Text) {
		if !yield(p) {
			return
		}
	}
}

// fullText returns the whole text.
func (r reply) fullText() string {
	var b strings.Builder
	for p := range r.pieces {
		b.WriteString(p)
	}
	return b.String()
}

// writeHalf breaks the stream between the text and the calls if the script says so,
// and reports whether it did; overloaded writes the event of BreakError.
func (r reply) writeHalf(overloaded func()) bool {
	switch r.Break {
	case BreakCut:
		panic(http.ErrAbortHandler)
	case BreakError:
		overloaded()
		return true
	case BreakEnd:
		return true
	}
	return false
}

// cut splits a text into pieces of about 7 bytes, at character boundaries.
func cut(text string) (list []string) {
	from := 0
	for at := range text {
		if at-from >= 7 {
			list = append(list, text[from:at])
			from = at
		}
	}
	if from < len(text) {
		list = append(list, text[from:])
	}
	return list
}

// sse writes server-sent events and flushes each. After the client disconnects,
// it writes nothing more.
type sse struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error
}

// event writes one event; an empty name is omitted.
func (s *sse) event(name string, v any) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	text, ok := v.(string)
	if !ok {
		j, err := json.Marshal(v)
		if err != nil {
			panic(err) // only maps of plain values
		}
		text = string(j)
	}
	b.WriteString(text + "\n\n")
	s.raw(b.String())
}

func (s *sse) raw(text string) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.rc.Flush()
	}
}

func (s *sse) disconnected() bool { return s.err != nil }
