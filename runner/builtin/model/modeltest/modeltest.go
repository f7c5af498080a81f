// Package modeltest is a model server that plays a script. It implements the
// wire formats of Anthropic messages, OpenAI chat completions, OpenAI responses
// and Google's generateContent, streamed and whole, so that runners and
// external programs can be tested without a model. It records every request.
package modeltest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Break is the way in which a stream is cut off.
type Break string

// The ways to break a stream, each after half of the reply.
const (
	BreakCut   Break = "cut"   // the connection is cut
	BreakEnd   Break = "end"   // it ends normally, but without its last events
	BreakError Break = "error" // an event says that the server is overloaded
)

// Step is one answer. The zero Step is an empty reply.
type Step struct {
	Text    string
	Calls   []Call
	Usage   Usage  // zero: 10 in, 5 out
	NoUsage bool   // report no usage, if the format allows that
	Stop    string // "" (by itself), "length" or "refusal"

	Status  int    // an error status, 400 or higher
	Kind    string // its type or code; "": the usual one for the status
	Message string // its message; "": a default
	After   string // its Retry-After header

	Break Break
	Flood int             // bytes of text, in place of Text
	Raw   string          // the body of a stream, byte for byte
	Wait  <-chan struct{} // answer when it is closed
	Times int             // how often the step is played; 0: once
}

// Call is a call of a tool in a reply.
type Call struct {
	ID   string // "": generated
	Name string
	Args string // JSON, or whatever the test needs; "": {}

	Namespace string // for responses, where a program groups its tools; "": none
}

// Usage is the usage that a reply reports. In includes cached tokens.
type Usage struct{ In, Out, Cached int }

// Server plays a script. Requests may come from any program.
type Server struct {
	URL    string // without a path: append /v1 if a program requires it
	Models []string

	mu     sync.Mutex
	script func(Request) Step
	seen   []Request
	made   int // replies so far, for IDs
}

// New starts a server that answers with the steps, one after another, and
// rejects further requests. It stops at the end of the test.
func New(t testing.TB, steps ...Step) *Server {
	t.Helper()
	played := 0
	return NewFunc(t, func(Request) Step {
		for len(steps) > 0 && played >= max(1, steps[0].Times) {
			steps, played = steps[1:], 0
		}
		if len(steps) == 0 {
			return Step{Status: http.StatusBadRequest, Message: "the script is over"}
		}
		played++
		return steps[0]
	})
}

// NewFunc starts a server that calls f for each answer. Calls of f are
// sequential.
func NewFunc(t testing.TB, f func(Request) Step) *Server {
	t.Helper()
	s := &Server{script: f, Models: []string{"test-model"}}
	srv := httptest.NewServer(s)
	s.URL = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

// WithTools plays the steps for requests that offer tools, and answers others,
// such as auxiliary requests of some programs, with "ok".
func WithTools(t testing.TB, steps ...Step) *Server {
	t.Helper()
	main := New(t, steps...)
	script := main.script
	main.script = func(r Request) Step {
		if len(r.Tools) == 0 {
			return Step{Text: "ok"}
		}
		return script(r)
	}
	return main
}

// Requests returns the requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Turns returns the requests that asked a model for a reply.
func (s *Server) Turns() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.API == "" })
}

// ServeHTTP answers as a provider would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	path := "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"), "v1/")
	req := read(path, body)
	req.Method, req.Path, req.Header = r.Method, r.URL.Path, r.Header.Clone()
	step, id := s.next(&req)
	switch {
	case req.API != "":
		s.answer(w, r, req, step, id)
	case path == "/messages/count_tokens" && r.Method == http.MethodPost:
		writeJSON(w, http.StatusOK, object{"input_tokens": len(body)/4 + 1})
	case path == "/models" && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, s.models(r.URL.Query().Has("client_version")))
	case strings.HasPrefix(path, "/models/") && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, modelObject(strings.TrimPrefix(path, "/models/")))
	case path == "/" && (r.Method == http.MethodHead || r.Method == http.MethodGet):
		w.WriteHeader(http.StatusOK)
	default:
		writeJSON(w, http.StatusNotFound, object{
			"type":  "error",
			"error": object{"type": "not_found_error", "message": "nothing is at " + r.URL.Path},
		})
	}
}

// next records the request and returns the step that answers it.
func (s *Server) next(r *Request) (Step, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, *r)
	if r.API == "" || r.Method != http.MethodPost {
		r.API = ""
		s.seen[len(s.seen)-1].API = ""
		return Step{}, 0
	}
	s.made++
	return s.script(*r), s.made
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, req Request, step Step, id int) {
	if step.Wait != nil {
		select {
		case <-step.Wait:
		case <-r.Context().Done():
			return
		}
	}
	if step.Status >= 400 {
		refuse(w, req.API, step)
		return
	}
	reply := newReply(step, req, id)
	if !req.Stream {
		writeJSON(w, http.StatusOK, formats[req.API].whole(reply))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	out := &sse{w: w, rc: http.NewResponseController(w)}
	if step.Raw != "" {
		out.raw(step.Raw)
		return
	}
	formats[req.API].stream(reply, out)
}

// format is one of the wire formats.
type format struct {
	whole  func(reply) object
	stream func(reply, *sse)
}

var formats = map[string]format{
	Messages:  {wholeMessage, streamMessage},
	Chat:      {wholeChat, streamChat},
	Responses: {wholeResponse, streamResponse},
	Gemini:    {wholeGemini, streamGemini},
}

func (s *Server) models(codex bool) object {
	list := []object{}
	for _, m := range s.Models {
		list = append(list, modelObject(m))
	}
	o := object{"object": "list", "data": list, "has_more": false}
	if n := len(s.Models); n > 0 {
		o["first_id"], o["last_id"] = s.Models[0], s.Models[n-1]
	}
	if codex {
		o["models"] = []object{}
	}
	return o
}

// modelObject returns a model with the fields of both companies.
func modelObject(id string) object {
	return object{
		"id": id, "type": "model", "display_name": id, "created_at": "2025-01-01T00:00:00Z",
		"object": "model", "created": 1735689600, "owned_by": "modeltest",
	}
}

func refuse(w http.ResponseWriter, api string, step Step) {
	kind := cmp.Or(step.Kind, errorType(api, step.Status))
	message := cmp.Or(step.Message, "refused by the script")
	if step.After != "" {
		w.Header().Set("Retry-After", step.After)
	}
	if api == Gemini {
		writeJSON(w, step.Status, object{"error": object{"code": step.Status, "message": message, "status": kind}})
		return
	}
	if api == Messages {
		writeJSON(w, step.Status, object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_test"})
		return
	}
	writeJSON(w, step.Status, object{"error": object{"message": message, "type": kind, "param": nil, "code": kind}})
}

func errorType(api string, status int) string {
	switch {
	case status == http.StatusUnauthorized && api == Gemini:
		return "UNAUTHENTICATED"
	case status == http.StatusUnauthorized && api == Messages:
		return "authentication_error"
	case status == http.StatusUnauthorized:
		return "invalid_api_key"
	case status == http.StatusTooManyRequests && api == Messages:
		return "rate_limit_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case status == 529:
		return "overloaded_error"
	case status >= 500 && api == Messages:
		return "api_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, v object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// now is the creation time of replies, in seconds.
func now() int64 { return time.Now().Unix() }
