package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// post sends a body to /mcp as a client of the old protocol would, without the SDK.
func (ts *testServer) post(ctx context.Context, caller, path, body string, with ...func(*http.Request)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token := ts.Token(caller); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for _, w := range with {
		w(req)
	}
	return ts.Client.Do(req)
}

// answer is post for requests that get a response; it returns status and body.
func (ts *testServer) answer(caller, path, body string, with ...func(*http.Request)) (int, string, http.Header) {
	ts.t.Helper()
	res, err := ts.post(context.Background(), caller, path, body, with...)
	if err != nil {
		ts.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		ts.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func rpc(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestRequestsAreCheckedBeforeTheyReachATool(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name, caller, path, body string
		with                     []func(*http.Request)
		status                   int
		want                     string
	}{
		{"a token is enough", "coder", "/mcp", ping, nil, 200, `"result":{}`},
		{"a person's token is enough", "viewer", "/mcp", ping, nil, 200, `"result":{}`},
		{"a request without a token is refused", "", "/mcp", ping, nil, 401, "unauthorized"},
		{"a bad token is refused", "", "/mcp", ping, []func(*http.Request){header("Authorization", "Bearer ty_nonsense")}, 401, "unauthorized"},
		{
			"a session cookie does not count", "", "/mcp", ping,
			[]func(*http.Request){header("Cookie", ts.cookie()), header("Sec-Fetch-Site", "same-origin")},
			401, "unauthorized",
		},
		{"another name for our address is refused", "coder", "/mcp", ping, []func(*http.Request){host("evil.example")}, 421, "misdirected"},
		{
			"a page of another site is refused, token or not", "coder", "/mcp", ping,
			[]func(*http.Request){header("Origin", "http://evil.example")},
			403, "cross_site",
		},
		{"a page without an origin is refused", "coder", "/mcp", ping, []func(*http.Request){header("Origin", "null")}, 403, "cross_site"},
		{"a page of our own is allowed", "coder", "/mcp", ping, []func(*http.Request){header("Origin", ts.URL)}, 200, `"result":{}`},
		{"another port is another site", "coder", "/mcp", ping, []func(*http.Request){header("Origin", "http://127.0.0.1:1")}, 403, "cross_site"},
		{"an unknown profile is named", "coder", "/mcp?profile=x", ping, nil, 400, "profile=core"},
		{"an unknown content option is named", "coder", "/mcp?content=x", ping, nil, 400, "content=text"},
		{"not JSON", "coder", "/mcp", "{", nil, 400, ""},
		{"too much JSON", "coder", "/mcp", ping + strings.Repeat(" ", 1<<20), nil, 413, "1048576"},
		{"too many messages at once", "coder", "/mcp", "[" + strings.Repeat(ping+",", 20) + ping + "]", nil, 400, "at most 20"},
		{"some messages at once, as the first protocols allow", "coder", "/mcp", "[" + ping +
			"," + strings.Replace(ping, "1", "2", 1) + "]", nil, 200, ""},
		{"another content type", "coder", "/mcp", ping, []func(*http.Request){header("Content-Type", "text/plain")}, 415, ""},
		{"repeated arguments", "coder", "/mcp", rpc(1, "get_task", `{"taskId":1,"taskId":2}`), nil, 200, `duplicate`},
		{"arguments that are not an object", "coder", "/mcp", rpc(1, "get_task", `[1]`), nil, 200, `must be one object`},
		{
			"no arguments at all", "coder", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"todo_count"}}`,
			nil, 200, `"ok":true`,
		},
		{"GET is not supported", "coder", "/mcp", "", []func(*http.Request){method("GET")}, 405, "it has OPTIONS, POST"},
		{"DELETE is not supported", "coder", "/mcp", "", []func(*http.Request){method("DELETE")}, 405, "it has OPTIONS, POST"},
		{"PUT is not supported", "coder", "/mcp", "", []func(*http.Request){method("PUT")}, 405, "it has OPTIONS, POST"},
	} {
		status, body, h := ts.answer(c.caller, c.path, c.body, c.with...)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.want)
		}
		if status == http.StatusUnauthorized && h.Get("WWW-Authenticate") != `Bearer realm="taskyard"` {
			t.Errorf("%s: WWW-Authenticate is %q", c.name, h.Get("WWW-Authenticate"))
		}
	}
}

// cookie signs a person in and returns the session's cookie.
func (ts *testServer) cookie() string {
	ts.t.Helper()
	if _, err := ts.Service.AddUser(context.Background(), task.SystemActor, "maya", "correct horse battery", task.RoleAdmin); err != nil {
		ts.t.Fatal(err)
	}
	_, _, h := ts.answer("", "/login", "name=maya&password=correct+horse+battery", func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	})
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if strings.Contains(c.Name, "taskyard") && !strings.Contains(c.Name, "form") {
			return c.Name + "=" + c.Value
		}
	}
	ts.t.Fatalf("there is no session: %v", h)
	return ""
}

// result decodes the result of a tool call.
func result(t *testing.T, body string) (text string, isError bool) {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Result.Content) == 0 {
		t.Fatalf("there is no result: %v %s", err, body)
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

func TestAClaimIsShort(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	plain, long := ts.task("coder", "A plain task of the usual kind"), ts.task("reviewer", "A long thread")
	for i := range 100 {
		if _, err := ts.Service.Comment(context.Background(), task.Actor{Name: "coder", Role: task.RoleAgent},
			long, fmt.Sprintf("Comment %d: still at it, the tar is warm.", i)); err != nil {
			t.Fatal(err)
		}
	}
	_, body, _ := ts.answer("coder", "/mcp", rpc(1, "signup_for_task", `{"agent_name":"coder"}`))
	if len(body) >= 4096 || !strings.Contains(body, fmt.Sprintf("Task #%d claimed", plain)) {
		t.Errorf("a claim of a plain task has %d bytes: %s", len(body), body)
	}
	_, body, _ = ts.answer("reviewer", "/mcp", rpc(1, "signup_for_task", `{"agent_name":"reviewer"}`))
	text, _ := result(t, body)
	if len(text) >= 4096 {
		t.Errorf("the text of a claim with a long thread has %d bytes: %s", len(text), text)
	}
	if n := strings.Count(text, "still at it"); n != 10 || !strings.Contains(text, "Comment 99") ||
		!strings.Contains(text, "get_task with comments_after 0 reads from the first") {
		t.Errorf("got %d comments: %s", n, text)
	}
	reviewer := ts.connect("reviewer", "/mcp")
	seen, after := 0, any(0)
	for after != nil {
		_, m := reviewer.ok("get_task", args{"taskId": long, "comments_after": after})
		seen += len(m["comments"].([]any))
		after = m["commentsNext"]
	}
	if seen != 100 {
		t.Errorf("got %d comments page by page, want 100", seen)
	}
}

func TestASignupWaits(t *testing.T) {
	t.Parallel()
	// Deadlines of the server that are shorter than a wait.
	ts := newTestServer(t, func(_ *service.Config, s *http.Server) {
		s.ReadTimeout, s.WriteTimeout = time.Second, time.Second
	})
	t.Run("until its time is up", func(t *testing.T) {
		_, body, _ := ts.answer("coder", "/mcp", rpc(1, "signup_for_task", `{"agent_name":"coder","wait_seconds":2}`))
		if text, isError := result(t, body); isError || text != "No idle tasks available in queue for agent: coder" {
			t.Error(text)
		}
	})
	t.Run("until a task comes", func(t *testing.T) {
		got := ts.waiting(t.Context(), "coder", 2)
		id := ts.task("coder", "late")
		if w := <-got; w.err != nil || !strings.Contains(w.body, fmt.Sprintf("Task #%d claimed", id)) {
			t.Errorf("%+v", w)
		}
	})
	t.Run("until its caller hangs up, and then claims nothing", func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		got := ts.waiting(ctx, "coder", 3)
		hangUp()
		<-got
		ts.noneWaits(t)
		ts.unclaimed(t, ts.task("coder", "nobody's"))
	})
	t.Run("until its caller cancels it, and then claims nothing", func(t *testing.T) {
		ts := newTestServer(t)
		got := ts.waiting(t.Context(), "coder", 4)
		status, _, _ := ts.answer("coder", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
		if status != http.StatusAccepted {
			t.Errorf("%d", status)
		}
		if w := <-got; w.err != nil || !strings.Contains(w.body, "canceled by the client") {
			t.Errorf("%+v", w)
		}
		ts.unclaimed(t, ts.task("coder", "nobody's"))
	})
	t.Run("and no other caller can cancel it", func(t *testing.T) {
		ts := newTestServer(t)
		got := ts.waiting(t.Context(), "coder", 5)
		ts.answer("reviewer", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		ts.answer("coder", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"5"}}`)
		id := ts.task("coder", "late")
		if w := <-got; !strings.Contains(w.body, fmt.Sprintf("Task #%d claimed", id)) {
			t.Errorf("%+v", w)
		}
	})
}

type waited struct {
	body string
	err  error
}

// waiting starts a signup that waits, and returns once it does.
func (ts *testServer) waiting(ctx context.Context, caller string, id int) <-chan waited {
	ts.t.Helper()
	got := make(chan waited, 1)
	before := ts.Service.WaitingSignups()
	go func() {
		res, err := ts.post(ctx, caller, "/mcp", rpc(id, "signup_for_task", `{"agent_name":"`+caller+`","wait_seconds":30}`))
		if err != nil {
			got <- waited{err: err}
			return
		}
		defer res.Body.Close()
		b, err := io.ReadAll(bufio.NewReader(res.Body))
		got <- waited{string(b), err}
	}()
	testkit.Eventually(ts.t, "a signup waits", func() bool { return ts.Service.WaitingSignups() > before })
	return got
}

func (ts *testServer) noneWaits(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "nobody waits", func() bool { return ts.Service.WaitingSignups() == 0 })
}

func (ts *testServer) unclaimed(t *testing.T, id task.ID) {
	t.Helper()
	tk, err := ts.Service.Task(context.Background(), maya, id)
	if err != nil || tk.Claim != nil {
		t.Errorf("task %d is claimed: %+v %v", id, tk.Claim, err)
	}
}

func TestAnAgentLearnsItsIDFromItsToken(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	for caller, want := range map[string]string{
		"coder": "You are the agent coder. Taskyard manages", "mute": "You are the agent mute. Taskyard manages",
		"operator": "Taskyard manages", "act-as": "Taskyard manages",
	} {
		if got := ts.connect(caller, "/mcp").InitializeResult().Instructions; !strings.HasPrefix(got, want) {
			t.Errorf("%s: the instructions begin with %.60q, want %q", caller, got, want)
		}
	}
}
