package handlers

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/buildinfo"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testserver"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

// site is a complete server on 127.0.0.1 with a real service, database and folder.
type site struct {
	*testkit.Clock
	t     testing.TB
	host  *testserver.Server
	srv   *Server
	svc   *service.Service
	db    *db.DB
	dir   string // of the agents
	url   string
	http  *http.Client
	sched *pageScheduler
	log   *testkit.Buffer
}

// siteRoles are the callers of the matrix. Each except nobody has a token with its
// name. The agent is coder.
var siteRoles = []string{"nobody", "agent", "viewer", "operator", "reviewer", "admin", "worker"}

var siteCallers = map[string]service.NewToken{
	"agent": {Agent: "coder"}, "reviewer-agent": {Agent: "reviewer"}, "pull": {Agent: "pull"}, "mute": {Agent: "mute"},
	"viewer": {Scope: "read"}, "operator": {Scope: "operate"}, "reviewer": {Scope: "review"},
	"admin": {Scope: "admin"}, "worker": {Scope: "worker"},
}

var siteAgents = map[string]string{
	"coder":    "---\ndescription: writes code\ntools: read, edit\nrunner: script\n---\nDo what the task says.\n",
	"planner":  "---\ndescription: plans\ntools: read, task\nrunner: script\n---\nPlan.\n",
	"reviewer": "---\ndescription: reviews\ntools: read\nrunner: script\napproval: always\n---\nReview.\n",
	"pull":     "---\ndescription: claims itself\ntools: read\nrunner: none\n---\nWork.\n",
	"mute":     "---\ndescription: nothing\ntools: read\nrunner: none\ncapabilities: []\n---\nBe still.\n",
	"bad":      "---\nname: bad\n---\nno description, no tools\n",
}

// setup contains the options of a site.
type setup struct {
	*Options
	Config *service.Config
	HTTP   *http.Server // the server's timeouts
}

// newSite starts a server. Each with may change its options.
func newSite(t testing.TB, with ...func(setup)) *site {
	t.Helper()
	s := &site{t: t, log: &testkit.Buffer{}, sched: &pageScheduler{}}
	opt := Options{
		Scheduler: s.sched, Build: buildinfo.Info{Version: "test"}, EnforcementGap: weakerScript, Enforces: enforcedScript,
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	var served http.Server
	made := testservice.New(t, testservice.Options{Agents: siteAgents, Log: opt.Log, Config: func(c *service.Config) {
		c.Ticks = func(after task.Time) task.Time { return after.Add(time.Hour) }
		c.Settings = &sampleSettings{}
		c.Runner = func(string) service.Runner { return service.Runner{RunnerTraits: task.RunnerTraits{Steers: true}} }
		for _, w := range with {
			w(setup{&opt, c, &served})
		}
	}})
	return s.begin(made, opt, &served)
}

// begin serves an instance.
func (s *site) begin(made *testservice.Instance, opt Options, served *http.Server) *site {
	s.t.Helper()
	s.host = testserver.New(s.t, made)
	s.host.Callers = siteCallers
	s.Clock, s.svc, s.db, s.dir, s.url, s.http = made.Clock, made.Service, made.DB, made.Dir, s.host.URL, s.host.Client
	s.sched.next = s.svc.Now().Add(time.Hour)
	opt.Service, opt.Listen, opt.DataDir = s.svc, s.host.Addr(), filepath.Dir(s.dir)
	var err error
	s.srv, err = New(opt)
	s.ok(err)
	served.Handler = s.srv
	s.host.Serve(served)
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("unexpected error: %v", err)
	}
}

// answer is a complete response.
type answer struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// request returns a request. A body is sent as JSON unless headers, given as names
// and values, say otherwise; "" means no body.
func (s *site) request(caller, method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, s.url+path, r)
	s.ok(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := s.host.Token(caller); token != "" {
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
	ctx, cancel := context.WithTimeout(req.Context(), time.Minute) // ends a stream that should have been refused
	defer cancel()
	res, err := s.http.Do(req.WithContext(ctx))
	s.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	s.ok(err)
	a := answer{s.t, res.StatusCode, res.Header, b}
	s.checkDeclared(req, a)
	return a
}

// want fails the test unless the response has a status.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// problem checks that the response is a problem with a status and a code and that it
// has the request ID, and returns it.
func (a answer) problem(status int, code task.Code) Problem {
	a.t.Helper()
	a.want(status)
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Fatalf("got content type %q", got)
	}
	p := decode[Problem](a)
	if p.Code != string(code) || p.Status != status || p.Title == "" || p.Detail == "" {
		a.t.Fatalf("got %s, want %d %s", a.Body, status, code)
	}
	if id := a.Header.Get("X-Request-Id"); id == "" || p.RequestID != id {
		a.t.Fatalf("got request ID %q in the header, %q in the body", id, p.RequestID)
	}
	return p
}

// field checks that the response is a 422 that names a field.
func (a answer) field(code task.Code, field string) Problem {
	a.t.Helper()
	p := a.problem(http.StatusUnprocessableEntity, code)
	if !slices.ContainsFunc(p.Errors, func(f task.FieldError) bool { return f.Field == field && f.Message != "" }) {
		a.t.Fatalf("field %s is not mentioned: %s", field, a.Body)
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

// create creates a task as the operator over the API and returns its ID.
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
