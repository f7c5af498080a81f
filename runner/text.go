package runner

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What is kept in memory of the names and ids that a program gives.
const (
	maxName   = 200 // characters of one
	maxDenied = 100 // tools whose calls were refused
)

// clean makes text that may be stored: invalid UTF-8 and NUL are replaced.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cutBytes returns at most limit bytes of s, without half a character.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// cutChars returns the first limit characters of s; a cut ends with "…".
func cutChars(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// lastChars returns the last limit characters of s; a cut begins with "…".
func lastChars(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return "…" + string(runes[len(runes)-limit+1:])
}

// whole returns how many bytes of b are whole characters: all but a character
// at the end that has only begun.
func whole(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return i
		}
	}
	return len(b)
}

// tail keeps the end of a text.
type tail struct {
	limit int // bytes
	buf   []byte
}

func (t *tail) add(s string) {
	t.buf = append(t.buf, s...)
	if len(t.buf) > 2*t.limit {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.limit:])]
	}
}

// String returns the last characters, at most max of them, without the blanks
// around them.
func (t *tail) String(maxChars int) string {
	b := t.buf
	for len(b) > 0 && len(t.buf) >= t.limit && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return lastChars(strings.TrimSpace(string(b)), maxChars)
}

// cleanJSON returns one JSON value without secrets, invalid UTF-8 and NUL in
// its strings. raw is valid JSON, and redacted where nothing in it is escaped.
func cleanJSON(raw json.RawMessage, r *redactor) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return bytes.Clone(raw)
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
	if enc.Encode(cleanValue(v, r)) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

func cleanValue(v any, r *redactor) any {
	switch v := v.(type) {
	case string:
		return clean(r.Text(v))
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i], r)
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, val := range v {
			m[clean(r.Text(key))] = cleanValue(val, r)
		}
		return m
	}
	return v
}
