package claude

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/internal/lazyregexp"
	"taskyard/runner/supervise"
)

// longRequest finds the ID in a request that is too long to be parsed.
var longRequest = lazyregexp.New(`^\s*\{"type":"control_request","request_id":"([^"\\]{1,100})"`)

// longResult is a result that is too long to be parsed: because of its answer,
// or the denied calls, which it repeats.
type longResult struct {
	head []byte // the beginning of the line
	tail []byte // the end of the previous chunk
	cost string // US dollars; "" until found
}

const (
	maxHead = 1 << 20 // bytes of the beginning, which contains the verdict
	maxTail = 100     // bytes: more than the cost field has
)

var (
	isResult   = lazyregexp.New(`^\s*\{"type":"result"`)
	resultCost = lazyregexp.New(`"total_cost_usd":([0-9.eE+-]{1,40})[,}]`) // within a text, its quotes are escaped
)

// handleLongLine handles a line that is too long to be parsed.
func (r *reader) handleLongLine(kind supervise.LineKind, b []byte) {
	switch {
	case kind == supervise.LongLine && isResult().Match(b):
		r.last = &longResult{}
	case kind == supervise.LongLine:
		r.noteProgress()
		if id := longRequest().FindSubmatch(b); id != nil {
			r.deny(string(id[1]), "The arguments of this call are too long to be looked at.")
		}
	}
	if r.last != nil {
		r.last.add(b)
	}
	r.progressed = true
	r.SpillLine(kind, b)
	if kind == supervise.LongEnd && r.last != nil {
		last := r.last
		r.last = nil
		r.handleResult(readResult(last.line()))
	}
}

func (l *longResult) add(b []byte) {
	l.head = append(l.head, b[:min(len(b), maxHead-len(l.head))]...)
	l.tail = append(l.tail, b...)
	if found := resultCost().FindSubmatch(l.tail); found != nil && l.cost == "" { // later matches belong to denied calls
		l.cost = string(found[1])
	}
	l.tail = bytes.Clone(l.tail[max(0, len(l.tail)-maxTail):])
}

// line returns the result with the fields at its beginning, a truncated answer,
// and the cost.
func (l *longResult) line() []byte {
	fields := map[string]json.RawMessage{}
	dec := jsontext.NewDecoder(bytes.NewReader(l.head), jsontext.AllowInvalidUTF8(true))
	_, err := dec.ReadToken()
	for err == nil {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		key := name.String()
		var value jsontext.Value
		if value, err = dec.ReadValue(); err == nil {
			fields[key] = json.RawMessage(value.Clone())
		} else if _, rest, ok := bytes.Cut(l.head[dec.InputOffset():], []byte(`"`)); ok && key == "result" {
			fields[key] = cutString(rest)
		}
	}
	if _, err := strconv.ParseFloat(l.cost, 64); err == nil {
		fields["total_cost_usd"] = json.RawMessage(l.cost)
	}
	line, _ := json.Marshal(fields) // fails if the cost is not a JSON number
	return line
}

// maxEscape is how many bytes a character may take in a JSON string.
const maxEscape = 12

// cutString completes a JSON string whose end is missing, without a partial
// last character.
func cutString(b []byte) (quoted json.RawMessage) {
	for n := range min(maxEscape, len(b)) {
		if quoted = append(append([]byte(`"`), b[:len(b)-n]...), '"'); json.Valid(quoted) {
			break
		}
	}
	return quoted
}
