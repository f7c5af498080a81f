package runner

import "bytes"

const (
	maxEvent    = 32 << 10 // bytes of one event
	maxJSONLine = 1 << 20  // bytes of a line that is read as JSON
)

// lineKind says what a lineBuffer hands out.
type lineKind int

const (
	wholeLine   lineKind = iota // a line, or the rest of one whose beginning was given
	partialLine                 // the beginning of a line; the rest follows
	longLine                    // the beginning of a line that is too long
	longRest                    // the rest of a long line, in pieces
	longEnd                     // the end of a long line
)

// lineBuffer cuts a stream into lines. It holds one line, up to a bound.
type lineBuffer struct {
	emit func(kind lineKind, b []byte) // b is valid during the call
	buf  []byte
	long bool // the present line is too long; its rest is handed on as it comes
	cont bool // the beginning of the present line was given
}

// Write takes the next bytes.
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
		cut := whole(l.buf[:min(len(l.buf), maxEvent-noteRoom)])
		l.emit(longLine, l.buf[:cut])
		l.emit(longRest, l.buf[cut:])
		l.buf, l.long = nil, true
	}
	if len(b) > 0 {
		l.emit(longRest, b)
	}
}

// limit is how much of the present line may be held. What begins like an
// object may be one, and is worth waiting for.
func (l *lineBuffer) limit(next []byte) int {
	if !l.cont && (isObject(l.buf) || len(l.buf) == 0 && isObject(next)) {
		return maxJSONLine
	}
	return maxEvent
}

// isObject reports whether b begins like a JSON object.
func isObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r")
	return len(b) > 0 && b[0] == '{'
}

func (l *lineBuffer) end() {
	if l.long {
		l.emit(longEnd, nil)
	} else {
		l.emit(wholeLine, bytes.TrimSuffix(l.buf, []byte("\r")))
	}
	l.reset()
}

func (l *lineBuffer) reset() {
	l.buf, l.long, l.cont = l.buf[:0], false, false
}

// Flush gives out the beginning of a line that has waited long enough.
func (l *lineBuffer) Flush() {
	n := whole(l.buf)
	if l.long || n == 0 || !l.cont && isObject(l.buf) {
		return
	}
	l.emit(partialLine, l.buf[:n])
	l.buf, l.cont = l.buf[:copy(l.buf, l.buf[n:])], true
}

// Close gives out a last line without a line end.
func (l *lineBuffer) Close() {
	if len(l.buf) > 0 || l.long {
		l.end()
	}
}
