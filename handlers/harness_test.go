package handlers

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/buildinfo"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

// site is a whole server on 127.0.0.1: real service, database and folder.
type site struct {
	t      testing.TB
	srv    *Server
	svc    *service.Service
	db     *db.DB
	url    string
	http   *http.Client
	clock  *testkit.Clock
	tokens map[string]string // by the caller's name
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// siteRoles are the callers of the matrix; each but nobody has a token of its
// name. The agent is coder.
var siteRoles = []string{"nobody", "agent", "viewer", "operator", "reviewer", "admin", "worker"}

var siteAgents = map[string]string{
	"coder":    "---\ndescription: writes\ntools: read, edit\nrunner: script\n---\nWrite.\n",
	"reviewer": "---\ndescription: looks\ntools: read\nrunner: script\napproval: always\n---\nLook.\n",
	"pull":     "---\ndescription: pulls\ntools: read\nrunner: none\n---\nPull.\n",
	"mute":     "---\ndescription: nothing\ntools: read\nrunner: none\ncapabilities: []\n---\nBe still.\n",
	"bad":      "---\nname: bad\n---\nno description, no tools\n",
}

// newSite starts a server. with may change its options and its HTTP limits.
func newSite(t testing.TB, with ...func(*Options, *http.Server)) *site {
	t.Helper()
	s := &site{t: t, tokens: map[string]string{}, log: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s.open(log)
	opt := Options{Service: s.svc, Log: log, Build: buildinfo.Info{Version: "test"}, Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	h := httptest.NewUnstartedServer(nil)
	for _, w := range with {
		w(&opt, h.Config)
	}
	var err error
	if s.srv, err = New(opt); err != nil {
		t.Fatal(err)
	}
	h.Config.Handler = s.srv
	h.Start()
	s.url, s.http = h.URL, h.Client()
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		s.svc.Hub().Close()
		h.Close()
	})
	for name, n := range map[string]service.NewToken{
		"agent": {Agent: "coder"}, "reviewer-agent": {Agent: "reviewer"}, "pull": {Agent: "pull"}, "mute": {Agent: "mute"},
		"viewer": {Scope: "read"}, "operator": {Scope: "operate"}, "reviewer": {Scope: "review"},
		"admin": {Scope: "admin"}, "worker": {Scope: "worker"},
	} {
		s.mint(name, n)
	}
	return s
}

func (s *site) open(log *slog.Logger) {
	s.t.Helper()
	y := testservice.New(s.t, testservice.Options{Agents: siteAgents, Log: log, Config: func(c *service.Config) {
		c.Settings = &sampleSettings{}
		c.Runner = func(string) service.Runner { return service.Runner{RunnerTraits: task.RunnerTraits{Steers: true}} }
	}})
	s.db, s.svc, s.clock = y.DB, y.Service, y.Clock
}

// mint makes a token that do finds under the caller's name.
func (s *site) mint(caller string, n service.NewToken) task.ID {
	s.t.Helper()
	n.Name = caller
	made, err := s.svc.CreateToken(context.Background(), task.SystemActor, n)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tokens[caller] = made.Secret
	return made.ID
}

// answer is a whole answer.
type answer struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// request makes one request. body is "" for none; a body is sent as JSON
// unless headers, given as name and value, say otherwise.
func (s *site) request(caller, method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, s.url+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := s.tokens[caller]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (s *site) do(caller, method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.send(s.request(caller, method, path, body, headers...))
}

func (s *site) send(req *http.Request) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(req.Context(), time.Minute) // a stream that should have been refused
	defer cancel()
	res, err := s.http.Do(req.WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{s.t, res.StatusCode, res.Header, b}
	s.declared(req, a)
	return a
}

// want fails unless the status is so.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// problem checks that the answer is a problem of this status and code, which
// carries the request id, and returns it.
func (a answer) problem(status int, code task.Code) Problem {
	a.t.Helper()
	a.want(status)
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Fatalf("content type %q", got)
	}
	p := decode[Problem](a)
	if p.Code != string(code) || p.Status != status || p.Title == "" || p.Detail == "" {
		a.t.Fatalf("want %d %s, got %s", status, code, a.Body)
	}
	if id := a.Header.Get("X-Request-Id"); id == "" || p.RequestID != id {
		a.t.Fatalf("request id %q in the header, %q in the body", id, p.RequestID)
	}
	return p
}

// field checks that the answer is a 422 that names the field.
func (a answer) field(code task.Code, field string) Problem {
	a.t.Helper()
	p := a.problem(http.StatusUnprocessableEntity, code)
	if !slices.ContainsFunc(p.Errors, func(f task.FieldError) bool { return f.Field == field && f.Message != "" }) {
		a.t.Fatalf("field %s is not named: %s", field, a.Body)
	}
	return p
}

func decode[T any](a answer) (v T) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body, &v); err != nil {
		a.t.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// object is any JSON object.
type object = map[string]any

// create makes a task as the operator and returns its id.
func (s *site) create(owner, more string) string {
	s.t.Helper()
	if more != "" {
		more = "," + more
	}
	a := s.do("operator", "POST", "/api/tasks", `{"title":"a task","owner":"`+owner+`"`+more+`}`).want(201)
	return decode[struct{ ID string }](a).ID
}

// claim signs the caller up for the first task of the agent's queue.
func (s *site) claim(caller, agent string) string {
	s.t.Helper()
	got := decode[struct{ Task *struct{ ID string } }](s.do(caller, "POST", "/api/agents/"+agent+"/signup", "").want(200))
	if got.Task == nil {
		s.t.Fatal("the queue is empty")
	}
	return got.Task.ID
}
