package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of an answer as it comes over the network.
const (
	maxEvent  = 4 << 20   // bytes of one event, which are held at once
	maxStream = 256 << 20 // bytes in all; they pass through
	maxError  = 64 << 10  // bytes of an error, or of lines that are no event
)

var errTooLong = errors.New("the answer is too long")

// events reads server-sent events. Only the data of an event is of use: both
// APIs repeat its name there.
type events struct {
	in    *bufio.Reader
	total int    // bytes read
	line  []byte // the last one, without its end
	data  []byte // of the event that is coming in
	other []byte // lines that are no field of an event: perhaps an error
}

func newEvents(body io.Reader) *events {
	return &events{in: bufio.NewReaderSize(body, 16<<10)}
}

// next returns the data of the next event; it holds until the next call.
// Errors: io.EOF at the end, errTooLong, those of the body.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	for {
		err := e.readLine()
		if errors.Is(err, io.EOF) && len(e.data) > 0 {
			return e.data, nil // its blank line is missing
		}
		if err != nil {
			return nil, err
		}
		name, value, _ := bytes.Cut(e.line, []byte(":"))
		switch string(name) {
		case "data":
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
		case "event", "id", "retry":
		case "":
			if len(e.line) == 0 && len(e.data) > 0 {
				return e.data, nil
			}
		default:
			e.other = append(append(e.other, e.line...), '\n')
		}
		if len(e.data) > maxEvent || len(e.other) > maxError {
			return nil, errTooLong
		}
	}
}

// readLine reads the next line. A last line without its end counts.
func (e *events) readLine() error {
	e.line = e.line[:0]
	for {
		piece, err := e.in.ReadSlice('\n')
		e.total += len(piece)
		if e.total > maxStream || len(e.line)+len(piece) > maxEvent {
			return errTooLong
		}
		e.line = append(e.line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(e.line) > 0:
		case err != nil:
			return err
		}
		e.line = bytes.TrimRight(e.line, "\r\n")
		return nil
	}
}
