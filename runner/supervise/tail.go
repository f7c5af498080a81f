package supervise

import (
	"strings"
	"unicode/utf8"
)

// Tail keeps the end of a text.
type Tail struct {
	Limit int // bytes
	buf   []byte
}

// Add appends s.
func (t *Tail) Add(s string) {
	t.buf = append(t.buf, s...)
	if len(t.buf) > 2*t.Limit {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.Limit:])]
	}
}

// Reset clears the text.
func (t *Tail) Reset() { t.buf = nil }

// Last returns at most most characters from the end, without surrounding white
// space; truncated text begins with "…".
func (t *Tail) Last(limit int) string {
	b := t.buf
	for len(b) > 0 && len(t.buf) >= t.Limit && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return lastChars(strings.TrimSpace(string(b)), limit)
}

// lastChars returns the last limit characters of s; truncated text begins with
// "…".
func lastChars(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return "…" + string(runes[len(runes)-limit+1:])
}

// completeChars returns how many bytes of b are complete characters, without an
// incomplete one at the end.
func completeChars(b []byte) int {
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
