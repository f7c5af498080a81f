package supervise

import "bytes"

// MaxEvent is the maximum size of an event's text and data together, in bytes.
const MaxEvent = 32 << 10

// maxJSONLine is how many bytes of a line are parsed as JSON.
const maxJSONLine = 1 << 20

// LineKind says which part of a line is passed.
type LineKind int

// The kinds. A long line has more than 32 KiB, or 1 MiB if it begins like a JSON
// object.
const (
	WholeLine   LineKind = iota // a whole line, or the rest of one whose beginning was passed
	PartialLine                 // the beginning of a line; the rest follows
	LongLine                    // the beginning of a line that is too long
	LongRest                    // the rest of a long line, in pieces
	LongEnd                     // the end of a long line
)

// lineBuffer splits a stream into lines. It holds one line, up to a bound.
type lineBuffer struct {
	emit func(kind LineKind, b []byte) // b is valid only during the call
	buf  []byte
	long bool // the current line is too long; its rest is passed on as it arrives
	cont bool // the beginning of the current line was passed
}

// Write processes the next bytes.
func (l *lineBuffer) Write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.add(b)
			return
		}
		l.add(b[:i])
		l.end()
		b = b[i+1:]
	}
}

func (l *lineBuffer) add(b []byte) {
	if !l.long {
		n := min(len(b), l.limit(b)-len(l.buf))
		l.buf = append(l.buf, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return
		}
		cut := completeChars(l.buf[:min(len(l.buf), MaxEvent-noteRoom)])
		l.emit(LongLine, l.buf[:cut])
		l.emit(LongRest, l.buf[cut:])
		l.buf, l.long = nil, true
	}
	if len(b) > 0 {
		l.emit(LongRest, b)
	}
}

// limit returns how much of the current line may be held. A line that begins
// like an object may be one, and is worth waiting for.
func (l *lineBuffer) limit(next []byte) int {
	if !l.cont && (IsObject(l.buf) || len(l.buf) == 0 && IsObject(next)) {
		return maxJSONLine
	}
	return MaxEvent
}

// IsObject reports whether b begins like a JSON object.
func IsObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r")
	return len(b) > 0 && b[0] == '{'
}

func (l *lineBuffer) end() {
	if l.long {
		l.emit(LongEnd, nil)
	} else {
		l.emit(WholeLine, bytes.TrimSuffix(l.buf, []byte("\r")))
	}
	l.reset()
}

func (l *lineBuffer) reset() {
	l.buf, l.long, l.cont = l.buf[:0], false, false
}

// Flush emits the beginning of a line that has been held long enough.
func (l *lineBuffer) Flush() {
	n := completeChars(l.buf)
	if l.long || n == 0 || !l.cont && IsObject(l.buf) {
		return
	}
	l.emit(PartialLine, l.buf[:n])
	l.buf, l.cont = l.buf[:copy(l.buf, l.buf[n:])], true
}

// Close emits a last line without a line ending.
func (l *lineBuffer) Close() {
	if len(l.buf) > 0 || l.long {
		l.end()
	}
}
