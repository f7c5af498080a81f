package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// events is a body of server-sent events without what the libraries would
// pile up: comments are left out, and a line or event without end, or much
// that is no event at all, is an error.
type events struct {
	io.Closer
	in    *bufio.Reader
	rest  []byte // of a piece that is handed out
	kind  lineKind
	mid   bool // the last piece ended within a line
	total int
	event int // bytes since the last blank line
	odd   int // bytes of lines that are no field
}

type lineKind int

const (
	fieldLine lineKind = iota
	commentLine
	oddLine
)

func newEvents(body io.ReadCloser) *events {
	return &events{Closer: body, in: bufio.NewReaderSize(body, 16<<10)}
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		piece, err := e.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if tooMuch := e.piece(piece); tooMuch != nil {
			return 0, tooMuch
		}
		if err != nil && len(e.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// piece judges the next piece of a line.
func (e *events) piece(b []byte) error {
	if !e.mid {
		e.kind = kindOfLine(b)
		if len(bytes.TrimSpace(b)) == 0 {
			e.event = 0
		}
	}
	e.mid = len(b) > 0 && b[len(b)-1] != '\n'
	e.total += len(b)
	switch e.kind {
	case fieldLine:
		e.rest = b
		e.event += len(b)
	case oddLine: // an error that is no event, maybe
		e.rest = b
		e.odd += len(b)
	}
	if e.total > maxAnswer || e.event > maxEvent || e.odd > maxRefusal {
		return errTooMuch
	}
	return nil
}

func kindOfLine(b []byte) lineKind {
	switch {
	case bytes.HasPrefix(b, []byte("data:")), bytes.HasPrefix(b, []byte("event:")), len(bytes.TrimSpace(b)) == 0:
		return fieldLine
	case bytes.HasPrefix(b, []byte(":")), bytes.HasPrefix(b, []byte("id:")), bytes.HasPrefix(b, []byte("retry:")):
		return commentLine
	}
	return oddLine
}
