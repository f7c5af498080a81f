package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// redact removes secrets from requests of a run's agent before anything else
// reads them: comments, summaries, tasks, notices, on any route and in any
// tool. The runner redacts the run's events, results and errors.
func (s *Server) redact(c echo.Context) error {
	r, a := c.Request(), actorFrom(c)
	run := a.RunID
	if a.Role == task.RoleWorker && strings.HasPrefix(c.Path(), "/api/worker/runs/:id/") {
		run, _ = task.ParseID(c.Param("id")) // an invalid ID is rejected later
	}
	if run == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	red, err := s.svc.RunRedactor(r.Context(), run, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if task.IsCode(err, task.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Body = &redactedBody{from: r.Body, red: red}
	return nil
}

// redactedBody reads and redacts a bounded body on the first read.
type redactedBody struct {
	from io.ReadCloser
	red  *task.Redactor
	text *bytes.Reader
	err  error // of the body
}

func (b *redactedBody) Read(p []byte) (int, error) {
	if b.text == nil {
		var raw []byte
		raw, b.err = io.ReadAll(b.from)
		b.text = bytes.NewReader(redactJSON(raw, b.red.Text))
	}
	n, err := b.text.Read(p)
	if errors.Is(err, io.EOF) && b.err != nil {
		err = b.err
	}
	return n, err
}

func (b *redactedBody) Close() error { return b.from.Close() }

// redactJSON redacts each string of a JSON text, including names, regardless of
// escapes. Everything else stays unchanged; invalid JSON is redacted as plain
// text.
func redactJSON(raw []byte, red func(string) string) []byte {
	if bytes.IndexByte(raw, '\\') < 0 { // nothing is escaped: most bodies need no parsing
		if s := string(raw); red(s) == s {
			return raw
		}
	}
	var out []byte
	done := 0
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if dec.PeekKind() != '"' {
			if _, err := dec.ReadToken(); err == io.EOF { //nolint:errorlint // documented so
				break
			} else if err != nil {
				return []byte(red(string(raw)))
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return []byte(red(string(raw)))
		}
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			continue // rejected by the reader
		}
		if clean := red(string(text)); clean != string(text) {
			quoted, err := jsontext.AppendQuote(nil, clean)
			if err != nil {
				continue
			}
			end := int(dec.InputOffset())
			out = append(append(out, raw[done:end-len(v)]...), quoted...)
			done = end
		}
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}
