package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// wire is a minimal HTTP/1.1 client: one connection, prepared requests, and
// minimal parsing of answers. The client of net/http uses more CPU per request
// than the server does, on the same cores, so it would dominate the results.
type wire struct {
	conn  net.Conn
	r     *bufio.Reader
	body  []byte
	bytes int64 // received so far, including headers
}

func dial(addr string) (*wire, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn}
	w.r = bufio.NewReaderSize(w, 32<<10)
	return w, nil
}

// Read reads and counts what the server sends.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.conn.Read(p)
	w.bytes += int64(n)
	return n, err
}

func (w *wire) close() { w.conn.Close() }

// request returns the bytes of a request. headers are complete lines without
// line endings.
func request(method, path, host, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if method != "GET" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// answer is an answer of a server. body is valid until the next call on the
// wire.
type answer struct {
	status int
	body   []byte
	cookie string // name=value of the session's cookie, if one was set
}

// call sends a request and reads the whole answer. A status other than 2xx is
// an error with the answer.
func (w *wire) call(req []byte) ([]byte, error) {
	a, err := w.exchange(req)
	if err != nil {
		return nil, err
	}
	if a.status/100 != 2 {
		line, _, _ := bytes.Cut(req, []byte("\r\n"))
		return nil, fmt.Errorf("%s: %d: %.300s", line, a.status, a.body)
	}
	return a.body, nil
}

// ask is like call, if only success matters.
func (w *wire) ask(req []byte) error {
	_, err := w.call(req)
	return err
}

// exchange sends a request and reads the whole answer, with any status.
func (w *wire) exchange(req []byte) (answer, error) {
	if err := w.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return answer{}, err
	}
	if _, err := w.conn.Write(req); err != nil {
		return answer{}, err
	}
	return w.receive()
}

// receive reads a whole answer.
func (w *wire) receive() (answer, error) {
	a, size, err := w.head()
	if err != nil {
		return a, err
	}
	w.body = w.body[:0]
	if size >= 0 {
		err = w.take(size)
	} else {
		err = w.chunks()
	}
	a.body = w.body
	return a, err
}

var (
	headLength = []byte("Content-Length: ")
	headChunks = []byte("Transfer-Encoding: chunked")
	headCookie = []byte("Set-Cookie: taskyard=")
	crlf       = []byte("\r\n")
)

// head reads status line and headers. size is -1 for a chunked body.
func (w *wire) head() (a answer, size int, err error) {
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return a, 0, err
	}
	if len(line) < 12 {
		return a, 0, fmt.Errorf("no status line: %q", line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, 0, err
	}
	for {
		if line, err = w.r.ReadSlice('\n'); err != nil {
			return a, 0, err
		}
		switch {
		case len(line) == 2:
			return a, size, nil
		case bytes.HasPrefix(line, headLength):
			size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(headLength):])))
		case bytes.HasPrefix(line, headChunks):
			size = -1
		case bytes.HasPrefix(line, headCookie):
			value, _, _ := bytes.Cut(line[len("Set-Cookie: "):], []byte(";"))
			a.cookie = string(value)
		}
		if err != nil {
			return a, 0, err
		}
	}
}

// take adds n bytes to the body.
func (w *wire) take(n int) error {
	at := len(w.body)
	w.body = append(w.body, make([]byte, n)...)
	_, err := io.ReadFull(w.r, w.body[at:])
	return err
}

// chunks reads a body of unknown length.
func (w *wire) chunks() error {
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := w.take(int(n)); err != nil {
			return err
		}
		end, err := w.r.ReadSlice('\n')
		if err == nil && !bytes.Equal(end, crlf) {
			err = errors.New("a chunk does not end where it should")
		}
		if err != nil || n == 0 {
			return err
		}
	}
}
