package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// script calls every tool at least once, in an order in which each finds what it
// needs. What agents read is in testdata/texts.golden.
var script = []struct {
	caller, tool string
	args         args
}{
	{"coder", "signup_for_task", args{"agent_name": "coder"}},
	{"coder", "create_task", args{
		"title": "Fix the roof", "description": "It leaks <here> & there.", "priority": 5,
		"steps":     []any{args{"title": "Look"}, args{"title": "Fix", "details": "with tar", "done": false}},
		"resources": []any{args{"type": "url", "value": "https://example.org/roof", "label": "photo"}},
	}},
	{"coder", "create_task", args{"title": "Paint it", "status": "draft", "start": false}},
	{"operator", "create_task", args{"title": "For review", "owner": "reviewer"}},
	{"coder", "list_tasks", args{}},
	{"coder", "list_tasks", args{"status": "draft", "full": true}},
	{"coder", "get_my_queue", args{"agent_name": "coder"}},
	{"coder", "signup_for_task", args{"agent_name": "coder"}},
	{"coder", "signup_for_task", args{"agent_name": "coder", "wait_seconds": 0}},
	{"coder", "heartbeat", args{"taskId": 1, "claim": 1}},
	{"coder", "release_task", args{"taskId": 1, "claim": 2}},
	{"coder", "release_task", args{"taskId": 1, "claim": 1}},
	{"coder", "signup_for_task", args{"agent_name": "coder"}},
	{"coder", "update_step", args{"taskId": 1, "stepIndex": 0, "done": true}},
	{"coder", "create_subtask", args{"task_id": "1", "step_index": 1, "title": "Buy tar", "owner": "reviewer"}},
	{"coder", "update_steps", args{"taskId": "1", "steps": []any{}}},
	{"coder", "update_steps", args{"taskId": 2, "steps": []any{args{"title": "One"}}}},
	{"coder", "append_step", args{"taskId": 1, "title": "Clear up"}},
	{"coder", "insert_step", args{"taskId": 1, "stepIndex": 1, "title": "Measure", "details": "twice"}},
	{"coder", "add_resource", args{"taskId": 1, "type": "file", "value": "/tmp/roof.txt"}},
	{"coder", "remove_resource", args{"taskId": 1, "index": 1}},
	{"coder", "remove_resource", args{"taskId": 1, "index": 7}},
	{"coder", "add_comment", args{"taskId": 1, "content": "Half done."}},
	{"coder", "notify_user", args{"taskId": 1, "message": "Tar is dear."}},
	{"coder", "get_task", args{"taskId": 1}},
	{"coder", "get_task", args{"taskId": 1, "comments_after": 0}},
	{"coder", "reply_review", args{"taskId": 1, "comment": 1, "state": "declined", "text": "It is dry there."}},
	{"coder", "update_task", args{"taskId": 2, "status": "active", "title": "Paint it red", "labels": []any{"roof", "color"}}},
	{"coder", "set_blocked_by", args{"taskId": 2, "taskIds": []any{"1", 3}}},
	{"coder", "set_blocked_by", args{"taskId": 1, "taskIds": []any{2}}},
	{"coder", "get_task", args{"taskId": 2, "why": true}},
	{"coder", "list_tasks", args{"label": "roof"}},
	{"coder", "set_blocked_by", args{"task_id": 2, "task_ids": []any{}}},
	{"coder", "update_task", args{"taskId": 2, "title": "Late", "version": 1}},
	{"coder", "move_task", args{"task_id": 1, "current_agent": "coder", "new_agent": "reviewer", "comment": " Please look. "}},
	{"coder", "move_task", args{"task_id": 1, "current_agent": "coder", "new_agent": "reviewer", "comment": "again"}},
	{"coder", "move_task", args{"task_id": 99, "current_agent": "coder", "new_agent": "reviewer", "comment": "x"}},
	{"coder", "move_task", args{"task_id": 2, "current_agent": "coder", "new_agent": "reviewer", "comment": "x"}},
	{"reviewer", "batch_signup_for_tasks", args{"agent_name": "reviewer", "count": 3}},
	{"reviewer", "move_task", args{"task_id": 1, "current_agent": "reviewer", "new_agent": "zoe", "comment": "x"}},
	{"reviewer", "signup_for_task", args{"agent_name": "reviewer"}},
	{"reviewer", "complete_and_signup", args{"agent_name": "reviewer", "task_id": "1", "summary": "Looks good."}},
	{"reviewer", "move_task", args{"task_id": 1, "current_agent": "reviewer", "new_agent": "coder", "comment": "x"}},
	{"reviewer", "complete_and_signup", args{"agent_name": "reviewer", "task_id": "3"}},
	{"reviewer", "auto_signup", args{"agent_name": "reviewer", "max_concurrent": 1}},
	{"coder", "auto_signup", args{"agent_name": "coder", "max_concurrent": 2}},
	{"coder", "auto_signup", args{"agent_name": "coder", "max_concurrent": 1}},
	{"coder", "reassign_multiple_tasks", args{"task_ids": []any{2}, "new_agent": "reviewer", "comment": "Yours."}},
	{"operator", "complete_task", args{"taskId": 2, "summary": "Red."}},
	{"operator", "cancel_task", args{"taskId": 4, "reason": "No tar."}},
	{"coder", "list_history", args{}},
	{"coder", "list_history", args{"limit": 1, "status": "done"}},
	{"coder", "todo_rpop", args{}},
	{"coder", "todo_rpush", args{"item": "b \"quoted\""}},
	{"coder", "todo_lpush", args{"item": "a"}},
	{"coder", "todo_rpush", args{"item": "c"}},
	{"coder", "todo_list", args{}},
	{"coder", "todo_count", args{}},
	{"coder", "todo_lpeek", args{}},
	{"coder", "todo_rpeek", args{}},
	{"reviewer", "todo_lpop", args{"agent_id": "coder"}},
	{"coder", "todo_rpop", args{}},
	{"operator", "todo_count", args{}},
	{"coder", "task", args{"agent_id": "coder", "operation": "rpush", "item": "d"}},
	{"coder", "task", args{"agent_id": "coder", "operation": "list"}},
	{"coder", "task", args{"agent_type": "list"}},
	{"coder", "task", args{"task": "Count the tiles", "agent_type": "hand", "estimated_complexity": "low", "wait_seconds": 0}},
	{"coder", "task_status", args{"run_id": 1}},
	{"coder", "task_wait", args{"run_id": "1", "wait_seconds": 0}},
	{"coder", "task_stop", args{"run_id": 1, "reason": "counted them myself"}},
	{"coder", "task_status", args{"run_id": 1}},
	{"coder", "task_stop", args{"run_id": 1}},
	{"coder", "task", args{}},
}

func TestEveryTextMatchesTheGoldenFile(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	sessions := map[string]*client{}
	for _, who := range []string{"coder", "reviewer", "operator"} {
		sessions[who] = ts.connect(who, "/mcp")
	}
	used := map[string]bool{}
	var out bytes.Buffer
	for _, s := range script {
		used[s.tool] = true
		res := sessions[s.caller].call(s.tool, s.args)
		structured := oneLine(t, res.StructuredContent)
		fmt.Fprintf(&out, "=== %s: %s %s\n%s\n--- isError %v, structured %s\n\n", s.caller,
			s.tool, oneLine(t, s.args), resultText(res), res.IsError, structured)
		saysTheSame(t, s.tool, resultText(res), res.IsError, res.StructuredContent)
	}
	testkit.Golden(t, "texts.golden", out.String())
	names, _ := sessions["coder"].tools()
	for _, n := range names {
		if !used[n] {
			t.Errorf("the tool %s is never called", n)
		}
	}
}

func oneLine(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// saysTheSame compares the JSON of a text with the structured content: all of it,
// or its only member.
func saysTheSame(t *testing.T, tool, text string, isError bool, structured any) {
	t.Helper()
	m, ok := structured.(map[string]any)
	if !ok {
		t.Fatalf("%s: no structured content: %T", tool, structured)
	}
	if isError {
		if message, _ := m["message"].(string); message == "" || !strings.HasSuffix(text, message) || m["code"] == "" {
			t.Errorf("%s: the failure %q has the structured content %v", tool, text, m)
		}
		return
	}
	_, body, lined := strings.Cut(text, "\n\n")
	if !lined {
		body = text
	}
	var got any
	if json.Unmarshal([]byte(body), &got) != nil {
		if !strings.HasPrefix(text, "No idle tasks") && !strings.HasPrefix(text, "Nothing claimed") {
			t.Errorf("%s: the text contains no JSON: %s", tool, text)
		}
		return
	}
	if !reflect.DeepEqual(got, structured) && !reflect.DeepEqual(got, m["task"]) && !reflect.DeepEqual(got, m["tasks"]) {
		t.Errorf("%s: text and structured content differ:\n%v\n%v", tool, got, structured)
	}
}

// TestListsMatchTheGoldenFile covers what an agent reads at the start of a session.
func TestListsMatchTheGoldenFile(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	c := ts.connect("coder", "/mcp")
	var out bytes.Buffer
	fmt.Fprintf(&out, "instructions: %s\n\n", c.InitializeResult().Instructions)
	_, res := c.tools()
	for _, tool := range res.Tools {
		fmt.Fprintf(&out, "%s: %s\n%s\n%s\n\n", tool.Name, tool.Description, oneLine(t, tool.Annotations), oneLine(t, tool.InputSchema))
	}
	core, _ := ts.connect("coder", "/mcp?profile=core").tools()
	fmt.Fprintf(&out, "core: %s\n", strings.Join(core, " "))
	testkit.Golden(t, "tools.golden", out.String())
}
