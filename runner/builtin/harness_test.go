//go:build linux

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

// tiny is a toolbox of real but small tools: create writes a file, read reads one,
// bash waits for the end of the run, grep panics.
type tiny struct {
	dir    string
	closed bool
}

func (b *tiny) Declared(names []string) (list []tools.Tool) {
	const path = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`
	for _, t := range []tools.Tool{
		{Name: "read", Description: "Read a file", Schema: json.RawMessage(path)},
		{Name: "create", Description: "Write a file", Schema: json.RawMessage(path)},
		{Name: "bash", Description: "Wait", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "grep", Description: "Panic", Schema: json.RawMessage(`{"type":"object"}`)},
	} {
		if slices.Contains(names, t.Name) {
			list = append(list, t)
		}
	}
	return list
}

func (b *tiny) Call(ctx context.Context, name string, args json.RawMessage) tools.Result {
	var a struct{ Path, Content string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Result{Text: err.Error(), IsError: true}
	}
	switch name {
	case "create":
		if err := os.WriteFile(filepath.Join(b.dir, a.Path), []byte(a.Content), 0o600); err != nil {
			return tools.Result{Text: err.Error(), IsError: true}
		}
		return tools.Result{Text: fmt.Sprintf("wrote %d bytes", len(a.Content)), Files: []string{a.Path}}
	case "read":
		text, err := os.ReadFile(filepath.Join(b.dir, a.Path))
		if err != nil {
			return tools.Result{Text: "no such file", IsError: true}
		}
		return tools.Result{Text: string(text)}
	case "bash":
		<-ctx.Done()
		return tools.Result{Text: "stopped", IsError: true}
	}
	panic("a bug in " + name)
}

func (b *tiny) Close() error { b.closed = true; return nil }

// loop is a built-in agent whose model is a script.
type loop struct {
	*Runner
	server *modeltest.Server
	box    *tiny
}

// newLoop makes an agent of the given API.
func newLoop(t *testing.T, api string, steps ...modeltest.Step) *loop {
	t.Helper()
	l := &loop{box: &tiny{}}
	l.Runner = &Runner{Provider: "test", DefaultModel: "test-model", Tools: func(_ supervise.Spec, work string) (Toolbox, error) {
		l.box.dir = work
		return l.box, nil
	}}
	l.ask(t, api, modeltest.New(t, steps...))
	return l
}

// ask connects the agent to a model server, with the given API.
func (l *loop) ask(t *testing.T, api string, s *modeltest.Server) {
	t.Helper()
	m, err := model.Open(model.Provider{API: api, BaseURL: s.URL + "/v1", Key: "sk-of-the-provider"})
	testkit.NoError(t, err)
	l.server, l.Model = s, m
	t.Cleanup(model.CloseIdle)
}

// newSpec returns a run with the tools read and create, without an MCP server.
func newSpec(t *testing.T) supervise.Spec {
	spec := runnertest.NewSpec(t)
	spec.URL, spec.Plan.Model, spec.Plan.Tools = "", "", []string{"read", "create"}
	return spec
}

// play runs the agent to its end.
func (l *loop) play(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
	t.Helper()
	r := &runnertest.Recorder{}
	out, err := l.Run(t.Context(), spec, r)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return out, r
}

// calls returns a step that calls one tool.
func calls(name, args string) modeltest.Step {
	return modeltest.Step{Calls: []modeltest.Call{{Name: name, Args: args}}}
}

// fakeServer is an MCP server with the tools of Taskyard.
type fakeServer struct {
	mu    sync.Mutex
	asked []string // "token method name arguments"
	page  string   // of tools/list
	reply map[string]string
}

func (srv *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	srv.mu.Lock()
	srv.asked = append(srv.asked, strings.TrimSpace(strings.Join([]string{
		r.Header.Get("Authorization"),
		r.URL.RawQuery, q.Method, q.Params.Name, string(q.Params.Arguments),
	}, " ")))
	srv.mu.Unlock()
	res := srv.page
	if q.Method == "tools/call" {
		res = srv.reply[q.Params.Name]
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, res)
}

const toolsPage = `{"tools":[{"name":"complete_task","description":"Finish a task for good","inputSchema":{"type":"object"}},
{"name":"signup_for_task","description":"Claim","inputSchema":{"type":"object"}},{"name":"task","description":"Delegate","inputSchema":{"type":"object"}},
{"name":"add_comment","description":"Comment","inputSchema":{"type":"object"}}]}`

func newFakeServer(t *testing.T) (*fakeServer, string) {
	fake := &fakeServer{page: toolsPage, reply: map[string]string{
		"complete_task": `{"content":[{"type":"text","text":"{\"id\":7}"}],"structuredContent":{"id":"7","status":"done","summary":"The gate is built."}}`,
		"add_comment":   `{"content":[{"type":"text","text":"Task 7 is archived"}],"isError":true}`,
	}}
	srv := httptest.NewServer(fake)
	t.Cleanup(srv.Close)
	return fake, srv.URL
}
