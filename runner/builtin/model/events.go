package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of a response.
const (
	maxEvent  = 4 << 20   // bytes of one event, which is held in memory
	maxStream = 256 << 20 // bytes of the whole stream, which is not held in memory
	maxError  = 64 << 10  // bytes of an error, or of lines that are not events
)

var errTooLong = errors.New("the answer is too long")

// events reads server-sent events. Only their data is used: both APIs repeat
// the event name in it.
type events struct {
	in    *bufio.Reader
	total int    // bytes read
	line  []byte // the last line, without its line ending
	data  []byte // data of the event that is being received
	other []byte // lines that are not fields of an event: perhaps an error
}

func newEvents(body io.Reader) *events {
	return &events{in: bufio.NewReaderSize(body, 16<<10)}
}

// next returns the data of the next event, which is valid until the next call.
// Errors: io.EOF at the end, errTooLong, those of the body.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	for {
		err := e.readLine()
		if errors.Is(err, io.EOF) && len(e.data) > 0 {
			return e.data, nil // the final blank line is missing
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

// readLine reads the next line. The last line may lack a line ending.
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
