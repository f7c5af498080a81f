package mcpserver_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/handlers"
	"taskyard/internal/agentfile"
	"taskyard/internal/buildinfo"
	"taskyard/internal/mcpserver"
	"taskyard/internal/testkit/testserver"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

var testAgents = map[string]string{
	"coder":    "---\ndescription: writes\ntools: read, edit, task\nrunner: none\n---\nWrite.\n",
	"reviewer": "---\ndescription: looks\ntools: read\nrunner: none\nmax_claims: 2\n---\nLook.\n",
	"hand":     "---\ndescription: helps\ntools: read\nrunner: script\n---\nHelp.\n",
	"mute":     "---\ndescription: nothing\ntools: read\nrunner: none\ncapabilities: []\n---\nBe still.\n",
}

// testServer is a whole server on 127.0.0.1 that the SDK's client connects to.
type testServer struct {
	*testserver.Server
	t testing.TB
}

var testCallers = map[string]service.NewToken{
	"coder": {Agent: "coder"}, "reviewer": {Agent: "reviewer"}, "mute": {Agent: "mute"},
	"viewer": {Scope: "read"}, "operator": {Scope: "operate"}, "reviewing": {Scope: "review"}, "admin": {Scope: "admin"},
	"act-as": {Scope: "operate act-as"}, "worker": {Scope: "worker"},
}

var maya = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

func newTestServer(t testing.TB, with ...func(*service.Config, *http.Server)) *testServer {
	t.Helper()
	var served http.Server
	ts := &testServer{t: t, Server: testserver.New(t, testservice.New(t, testservice.Options{
		Agents: testAgents, Runners: &agentfile.Options{Runners: map[string]task.RunnerKind{"script": {}}, DefaultRunner: "none"},
		Config: func(c *service.Config) {
			for _, w := range with {
				w(c, &served)
			}
		},
	}))}
	ts.Callers = testCallers
	log := slog.New(slog.DiscardHandler)
	h, err := handlers.New(handlers.Options{
		Service: ts.Service, Log: log, Build: buildinfo.Info{Version: "test"}, Listen: ts.Addr(),
		MCP: mcpserver.New(mcpserver.Options{Service: ts.Service, Log: log, Version: "test"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	served.Handler = h
	ts.Serve(&served)
	return ts
}

// withToken sends a token with every request.
type withToken struct {
	secret string
	base   http.RoundTripper
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.secret)
	return w.base.RoundTrip(r)
}

// client is a session of the SDK's client.
type client struct {
	*mcp.ClientSession
	ts *testServer
}

// connect opens a session as a caller. path is such as "/mcp".
func (ts *testServer) connect(caller, path string) *client {
	ts.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: ts.URL + path, HTTPClient: &http.Client{Transport: withToken{ts.Token(caller), ts.Client.Transport}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		ts.t.Fatalf("%s cannot connect: %v", caller, err)
	}
	ts.t.Cleanup(func() { _ = s.Close() })
	return &client{s, ts}
}

// args are the arguments of a call.
type args map[string]any

// call calls a tool and fails the test on an error of the protocol.
func (c *client) call(tool string, a args) *mcp.CallToolResult {
	c.ts.t.Helper()
	if a == nil {
		a = args{}
	}
	res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		c.ts.t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// ok is call for calls that must succeed; it returns text and structured content.
func (c *client) ok(tool string, a args) (string, map[string]any) {
	c.ts.t.Helper()
	res := c.call(tool, a)
	if res.IsError {
		c.ts.t.Fatalf("%s: %s", tool, resultText(res))
	}
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		c.ts.t.Fatalf("%s: the structured content is %T", tool, res.StructuredContent)
	}
	return resultText(res), m
}

// refused is call for calls that must be refused; it returns the text.
func (c *client) refused(tool string, a args) string {
	c.ts.t.Helper()
	res := c.call(tool, a)
	if !res.IsError {
		c.ts.t.Fatalf("%s was not refused: %s", tool, resultText(res))
	}
	return resultText(res)
}

func resultText(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "|")
}

// task creates a task for an agent as a person would.
func (ts *testServer) task(owner, title string) task.ID {
	ts.t.Helper()
	t, err := ts.Service.CreateTask(context.Background(), maya, task.New{Title: title, Owner: owner, NoStart: true})
	if err != nil {
		ts.t.Fatal(err)
	}
	return t.ID
}

// events returns the length of the event log, without refusals and tokens, which
// are created at their first use.
func (ts *testServer) events() (n int) {
	ts.t.Helper()
	list, err := ts.Service.Events(context.Background(), task.SystemActor, task.EventFilter{Limit: 500})
	if err != nil {
		ts.t.Fatal(err)
	}
	for _, e := range list {
		if e.Kind != task.EvRefused && e.Kind != task.EvTokenCreated {
			n++
		}
	}
	return n
}
