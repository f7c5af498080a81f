package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestHostileMessagesDoNoHarm sends what no client would: each message is answered,
// never with an internal error, nothing is written, and the server keeps running.
func TestHostileMessagesDoNoHarm(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "one")
	before := ts.events()
	message := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	bodies := []string{
		"", " ", "null", "true", "5", `""`, "{}", "[]", "[[]]", "[null]", "[{}]", `{"jsonrpc":"2.0"}`, "\x00", "\xff\xfe", "\xef\xbb\xbf{}",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":null}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping\u0000"}`, `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1e300,"message":5}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"todo_count"}}`, `{"jsonrpc":"2.0","method":"notifications/nothing"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"x"}}`,
		strings.Repeat("[", 1<<19), strings.Repeat(`{"a":`, 1<<17), "[" + strings.Repeat("[],", 300_000) +
			"[]]", strings.Repeat("9", 1<<20), `"` + strings.Repeat("\\", 1<<20-2),
	}
	for _, method := range []string{
		"initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
		"resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
		"completion/complete", "logging/setLevel", "server/discover", "roots/list", "sampling/createMessage",
		"elicitation/create", "tasks/get", "", "rpc.discover",
	} {
		for _, params := range []string{
			"null", "[]", "5", "{}", `{"name":null}`, `{"name":5}`, `{"name":"` + strings.Repeat("x", 10_000) + `"}`,
			`{"name":"get_task","arguments":5}`, `{"name":"work-guide","arguments":{"x":5}}`, `{"uri":5}`,
			`{"uri":"ik://system/agents/%00/tasks.json"}`, `{"uri":"ik://system/agents/../../tasks.json"}`,
			`{"uri":"` + strings.Repeat("ik://", 2000) + `"}`, `{"cursor":"AAAA"}`, `{"cursor":"\u0000"}`,
			`{"_meta":null}`, `{"_meta":{"progressToken":{}}}`, `{"ref":null,"argument":null}`, `{"ref":{"type":"x"}}`,
			`{"level":"x"}`, `{"protocolVersion":5}`, `{"protocolVersion":"9999-99-99"}`,
		} {
			bodies = append(bodies, message(method, params))
		}
	}
	for _, headers := range []func(*http.Request){oldHeaders("2025-06-18"), oldHeaders("2025-03-26"), newHeaders("get_task")} {
		for _, body := range bodies {
			if status, got, _ := ts.answer("coder", "/mcp", body, headers); status >= 500 || strings.Contains(got, "Internal error") {
				t.Errorf("%.200s: %d %.300s", body, status, got)
			}
		}
	}
	if after := ts.events(); after != before {
		t.Errorf("got %d new events", after-before)
	}
	ts.connect("coder", "/mcp").ok("get_task", args{"taskId": 1})
}

// TestHostileArgumentsAreRefused sends arguments beyond each limit: both paths
// refuse them, with a small answer and in little memory.
func TestHostileArgumentsAreRefused(t *testing.T) {
	ts := newTestServer(t)
	ts.task("coder", "one")
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int, f func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return strings.Join(parts, ",")
	}
	bad := func(int) string { return `"x"` }
	for _, c := range []struct{ name, tool, arguments, want string }{
		{"33 levels", "create_task", `{"title":"x","labels":` + nest(32) + `}`, "deeper than 32 levels"},
		{"32 levels, which are wrong for another reason", "create_task", `{"title":"x","labels":` +
			nest(31) + `}`, "labels[0]: must be a string"},
		{"braces in a text are not levels", "create_task", `{"title":"x","labels":["\"` +
			strings.Repeat("[{", 40) + `"],"owner":5}`, "owner: must be a string"},
		{"80,000 members", "create_task", "{" + many(80_000, func(i int) string { return fmt.Sprintf(`"a%d":1`, i) }) +
			"}", "more than 64 members"},
		{
			"80,000 members of a step", "update_steps", `{"taskId":1,"steps":[{` +
				many(80_000, func(i int) string { return fmt.Sprintf(`"a%d":1`, i) }) + "}]}",
			"steps[0]: The arguments are not acceptable JSON: an object has more than 64 members",
		},
		{"200,000 wrong ids", "set_blocked_by", `{"taskId":1,"taskIds":[` + many(200_000, bad) + "]}", "taskIds: must have at most 1000 items"},
		{"1,000 wrong ids", "set_blocked_by", `{"taskId":1,"taskIds":[` + many(1000, bad) + "]}", "and 980 more"},
		{"1,000 wrong labels", "create_task", `{"title":"x","labels":[` +
			many(1000, func(int) string { return `"\u0000"` }) + "]}", "and 980 more"},
		{"1,000 wrong steps", "update_steps", `{"taskId":1,"steps":[` +
			many(1000, func(int) string { return `{"a":1,"b":2}` }) + "]}", "and 2,980 more"},
		{"300,000 wrong indexes", "task", `{"task":"x","resources":[` + many(300_000, func(int) string { return "-1" }) +
			"]}", "resources: must have at most 1000 items"},
		{"a number of 100,000 digits", "signup_for_task", `{"agent_name":"coder","wait_seconds":` +
			strings.Repeat("9", 100_000) + "}", "wait_seconds: must be a whole number"},
		{"a number over a float", "signup_for_task", `{"agent_name":"coder","wait_seconds":1e999}`, "wait_seconds: must be a whole number"},
		{"a number too large for a count", "update_step", `{"taskId":1,"stepIndex":9223372036854775808}`, "stepIndex: must be a whole number"},
		{"the largest count", "update_step", `{"taskId":1,"stepIndex":9223372036854775807,"done":true}`, "tep"},
		{"a nested duplicate member", "update_steps", `{"taskId":1,"steps":[{"title":"a","title":"b"}]}`, "duplicate"},
		{"a duplicate member, once escaped", "get_task", `{"taskId":1,"task\u0049d":2}`, "duplicate"},
		{"invalid UTF-8", "add_comment", "{\"taskId\":1,\"content\":\"\xff\"}", "invalid UTF-8"},
		{"half a surrogate", "add_comment", `{"taskId":1,"content":"\udc00"}`, "invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, with := range [][]func(*http.Request){nil, {viaSDK}} {
				var was, is runtime.MemStats
				runtime.ReadMemStats(&was)
				status, got, _ := ts.answer("coder", "/mcp", rpc(1, c.tool, c.arguments), with...)
				runtime.ReadMemStats(&is)
				text, isError := result(t, got)
				if status != http.StatusOK || !isError || !strings.Contains(text, c.want) {
					t.Errorf("%d %.600s, want %s", status, got, c.want)
				}
				if e := fieldErrors(t, got); len(e) > task.MaxProblems {
					t.Errorf("got %d errors", len(e))
				}
				if len(got) > 32<<10 {
					t.Errorf("got an answer of %d bytes", len(got))
				}
				if took := is.TotalAlloc - was.TotalAlloc; took > 96<<20 {
					t.Errorf("used %d MiB for %d bytes", took>>20, len(c.arguments))
				}
			}
		})
	}
}

// fieldErrors returns the invalid arguments that a refusal lists.
func fieldErrors(t *testing.T, got string) []task.FieldError {
	t.Helper()
	var r struct {
		Result struct {
			StructuredContent struct{ Errors []task.FieldError }
		}
	}
	if err := json.Unmarshal([]byte(got), &r); err != nil {
		t.Fatal(err)
	}
	return r.Result.StructuredContent.Errors
}

// TestNoTextContainsNUL sends a NUL in every argument that is a text or a list of
// texts; it covers future tools too.
func TestNoTextContainsNUL(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	c := ts.connect("coder", "/mcp")
	_, res := c.tools()
	tried := 0
	for _, tool := range res.Tools {
		var schema struct {
			Properties map[string]nulSchema
		}
		if err := json.Unmarshal([]byte(oneLine(t, tool.InputSchema)), &schema); err != nil {
			t.Fatal(err)
		}
		for name, p := range schema.Properties {
			for at, value := range p.withNUL(name) {
				tried++
				got := c.refused(tool.Name, args{name: value})
				if !strings.Contains(got, at+": must not contain a NUL") && !strings.Contains(got, at+": must be") {
					t.Errorf("%s accepts a NUL in %s: %s", tool.Name, at, got)
				}
			}
		}
	}
	if tried < 70 {
		t.Errorf("only %d arguments were tried", tried)
	}
}

type nulSchema struct {
	Type       string
	Items      *nulSchema
	Properties map[string]nulSchema
}

// withNUL returns values with a NUL, by the names under which they are refused.
func (s nulSchema) withNUL(name string) map[string]any {
	const nul = "a\x00b"
	switch {
	case s.Type == "string":
		return map[string]any{name: nul}
	case s.Type == "array" && s.Items.Type == "string":
		return map[string]any{name + "[1]": []any{"5", nul}}
	case s.Type == "array" && s.Items.Type == "object":
		all := map[string]any{}
		for member, p := range s.Items.Properties {
			if p.Type == "string" {
				all[name+"[0]."+member] = []any{map[string]any{member: nul}}
			}
		}
		return all
	}
	return nil
}

// TestABatchIsAnsweredMessageByMessage is about the first protocol versions only:
// later ones have no batches.
func TestABatchIsAnsweredMessageByMessage(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "one")
	batch := "[" + rpc(1, "get_task", `{"taskId":1}`) + "," + rpc(2, "get_task", `{"taskId":7}`) +
		"," + rpc(3, "nothing", `{}`) + "," + ping[:len(ping)-1] + `,"id":4}]`
	batch = strings.Replace(batch, `"id":1,"method":"ping","id":4`, `"id":4,"method":"ping"`, 1)
	_, got, _ := ts.answer("coder", "/mcp", batch, oldHeaders("2025-03-26"))
	list, ok := readJSON(t, got).([]any)
	if !ok || len(list) != 4 {
		t.Fatalf("%s", got)
	}
	byID := map[float64]map[string]any{}
	for _, v := range list {
		m := v.(map[string]any)
		byID[m["id"].(float64)] = m
	}
	if r, _ := byID[1]["result"].(map[string]any); r == nil || r["isError"] != nil {
		t.Errorf("%v", byID[1])
	}
	if r, _ := byID[2]["result"].(map[string]any); r == nil || r["isError"] != true {
		t.Errorf("%v", byID[2])
	}
	if byID[3]["error"] == nil || byID[4]["result"] == nil {
		t.Errorf("%s", got)
	}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		if status, got, _ := ts.answer("coder", "/mcp", batch, oldHeaders(version)); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", version, status, got)
		}
	}
	twice := "[" + rpc(1, "todo_rpush", `{"item":"a"}`) + "," + rpc(1, "todo_rpush", `{"item":"b"}`) + "]"
	if status, got, _ := ts.answer("coder", "/mcp", twice, oldHeaders("2025-03-26")); status >= 500 {
		t.Errorf("two calls with one id: %d %s", status, got)
	}
}

// TestManyCallersHangUpAtOnce has callers of both protocols leave while they wait,
// by closing the connection or by canceling the call.
func TestManyCallersHangUpAtOnce(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	const callers = 24
	ctx, hangUp := context.WithCancel(t.Context())
	left := make(chan error, callers)
	for i := range callers {
		body, headers := rpc(i, "signup_for_task", `{"agent_name":"coder","wait_seconds":50}`), oldHeaders("2025-06-18")
		if i%2 == 0 {
			body, headers = newRPC(i, "signup_for_task", `{"agent_name":"coder","wait_seconds":50}`), newHeaders("signup_for_task")
		}
		with := []func(*http.Request){headers}
		if i%3 == 0 {
			with = append(with, viaSDK)
		}
		mine := ctx
		if i%4 == 0 {
			mine = t.Context() // cancels it
		}
		go func() {
			res, err := ts.post(mine, "coder", "/mcp", body, with...)
			if err == nil {
				err = res.Body.Close()
			}
			left <- err
		}()
	}
	testkit.Eventually(t, "all wait", func() bool { return ts.Service.WaitingSignups() == callers })
	go hangUp()
	for i := 0; i < callers; i += 4 {
		ts.answer("coder", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	for range callers {
		<-left
	}
	ts.noneWaits(t)
	ts.unclaimed(t, ts.task("coder", "nobody's"))
	if text, _ := ts.connect("coder", "/mcp").ok("signup_for_task", args{"agent_name": "coder"}); !strings.HasPrefix(text, "Task #1 claimed") {
		t.Error(text)
	}
}

// TestAListenerEndsWithItsCaller is about the one method that answers with a
// stream: nothing is ever sent on it, and no goroutine may be left.
func TestAListenerEndsWithItsCaller(t *testing.T) {
	ts := newTestServer(t)
	ts.answer("coder", "/mcp", ping)
	before := runtime.NumGoroutine()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	for range 20 {
		body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":` + newMeta + `,"notifications":{}}}`
		res, err := ts.post(ctx, "coder", "/mcp", body, newHeaders(""), setHeader("Mcp-Method", "subscriptions/listen"))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d %v", res.StatusCode, res.Header)
		}
	}
	if runtime.NumGoroutine() < before+20 {
		t.Errorf("there is no stream")
	}
	hangUp()
	testkit.Eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before+2 })
}
