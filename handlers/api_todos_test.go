package handlers

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestTodoListsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	todo := func(caller, agent, body string, headers ...string) answer {
		t.Helper()
		return s.do(caller, "POST", "/api/agents/"+agent+"/todo", body, headers...)
	}
	t.Run("responses match the specification exactly", func(t *testing.T) {
		for _, c := range []struct{ body, want string }{
			{`{"operation":"lpop"}`, `{"ok":false}`},
			{`{"operation":"rpeek"}`, `{"ok":false}`},
			{`{"operation":"count"}`, `{"ok":true,"count":0}`},
			{`{"operation":"list"}`, `{"ok":true,"items":[]}`},
			{`{"operation":"rpush","item":"Fix \"it\"\n\ud83d\ude00 "}`, `{"ok":true,"count":1}`},
			{`{"operation":"lpush","item":"first"}`, `{"ok":true,"count":2}`},
			{`{"operation":"list"}`, `{"ok":true,"items":["first","Fix \"it\"\n😀 "]}`},
			{`{"operation":"list","limit":1}`, `{"ok":true,"count":2,"items":["first"],"next":"-1"}`},
			{`{"operation":"list","limit":1,"after":"-1"}`, `{"ok":true,"count":2,"items":["Fix \"it\"\n😀 "]}`},
			{`{"operation":"lpeek"}`, `{"ok":true,"item":"first"}`},
			{`{"operation":"rpop"}`, `{"ok":true,"item":"Fix \"it\"\n😀 "}`},
			{`{"operation":"lpop"}`, `{"ok":true,"item":"first"}`},
		} {
			if got := string(todo("agent", "coder", c.body).want(200).Body); strings.TrimSpace(got) != c.want {
				t.Errorf("%s: got %s, want %s", c.body, got, c.want)
			}
		}
	})
	t.Run("errors name the invalid field", func(t *testing.T) {
		for body, field := range map[string]string{
			`{}`:                                             "operation",
			`{"operation":"push","item":"x"}`:                "operation",
			`{"operation":"LPUSH","item":"x"}`:               "operation",
			`{"operation":"lpush"}`:                          "item",
			`{"operation":"lpush","item":""}`:                "item",
			`{"operation":"lpush","item":" \n\t\u2003"}`:     "item",
			`{"operation":"lpush","item":7}`:                 "item",
			`{"operation":"lpop","item":""}`:                 "item",
			`{"operation":"list","limit":1001}`:              "limit",
			`{"operation":"list","after":"1.5"}`:             "after",
			`{"operation":"count","limit":1}`:                "limit",
			`{"operation":"lpop","agent_id":"coder"}`:        "agent_id",
			`{"operation":"lpush","item":"x","items":["y"]}`: "items",
		} {
			todo("agent", "coder", body).field(task.CodeInvalidField, field)
		}
		message := todo("agent", "coder", `{"operation":"push","item":"x"}`).field(task.CodeInvalidField, "operation").Errors[0].Message
		for _, op := range task.TodoOps {
			if !strings.Contains(message, string(op)) {
				t.Errorf("%s is not mentioned: %s", op, message)
			}
		}
		todo("agent", "coder", `{"operation":"lpush","item":"a\u0000"}`).problem(400, task.CodeInvalidJSON)
		todo("agent", "coder", "{\"operation\":\"lpush\",\"item\":\"\xff\"}").problem(400, task.CodeInvalidJSON)
		todo("agent", "coder", `{"operation":"lpush","item":"`+strings.Repeat("x", 4097)+`"}`).field(task.CodeInvalidField, "item")
		todo("agent", "coder", `{"operation":"lpush","item":"`+strings.Repeat("é", 4096)+`"}`).want(200)
		todo("agent", "coder", `{"operation":"lpop"}`).want(200)
	})
	t.Run("the error for an unknown agent names the known ones", func(t *testing.T) {
		for _, id := range []string{"nobody", "..%2fcoder", "coder.md", "%00"} {
			p := todo("agent", id, `{"operation":"count"}`).problem(404, task.CodeAgentNotFound)
			if !strings.Contains(p.Detail, "coder, general-purpose, mute, planner, pull") {
				t.Error(p.Detail)
			}
		}
	})
	t.Run("any agent and person may use any list, and viewers may only read", func(t *testing.T) {
		for _, caller := range []string{"agent", "pull", "operator", "reviewer", "admin"} {
			todo(caller, "reviewer", `{"operation":"lpush","item":"x"}`).want(200)
			todo(caller, "reviewer", `{"operation":"rpop"}`).want(200)
		}
		for _, op := range []string{"lpeek", "rpeek", "list", "count"} {
			todo("viewer", "reviewer", `{"operation":"`+op+`"}`).want(200)
		}
		todo("viewer", "reviewer", `{"operation":"lpush","item":"x"}`).problem(403, task.CodeForbidden)
		todo("viewer", "reviewer", `{"operation":"lpop"}`).problem(403, task.CodeForbidden)
		todo("mute", "reviewer", `{"operation":"count"}`).problem(403, task.CodeForbidden)
		todo("nobody", "reviewer", `{"operation":"count"}`).problem(401, task.CodeUnauthorized)
	})
	t.Run("a repeated idempotency key pushes once and pops once", func(t *testing.T) {
		for i := range 3 {
			a := todo("agent", "pull", `{"operation":"rpush","item":"x"}`, "Idempotency-Key", "push").want(200)
			if replayed := a.Header.Get("Idempotency-Replayed") == "true"; replayed != (i > 0) || !strings.Contains(string(a.Body), `"count":1`) {
				t.Errorf("call %d: got %s, replayed %v", i, a.Body, replayed)
			}
		}
		for range 3 {
			if a := todo("agent", "pull", `{"operation":"lpop"}`, "Idempotency-Key",
				"pop").want(200); !strings.Contains(string(a.Body), `"item":"x"`) {
				t.Errorf("got %s", a.Body)
			}
		}
	})
}
