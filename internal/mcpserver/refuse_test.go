package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

// TestBadInputIsRefusedByName sends invalid input to each tool: the answer is a
// result with isError that names the argument, the session continues, and nothing
// is written.
func TestBadInputIsRefusedByName(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "claimed")
	ts.task("coder", "free")
	ts.task("reviewer", "another's")
	coder := ts.connect("coder", "/mcp")
	coder.ok("signup_for_task", args{"agent_name": "coder"})
	coder.ok("update_steps", args{"taskId": 1, "steps": []any{args{"title": "one"}}})
	long := strings.Repeat("x", 70_000)
	for _, c := range []struct {
		tool string
		args args
		want string // part of the text
	}{
		{"signup_for_task", args{}, "Error signing up for task: agent_name: is required: the ID of the agent that you are, coder"},
		{"signup_for_task", args{"agent_name": " "}, "agent_name: must not be blank"},
		{"signup_for_task", args{"agent_name": 5}, "agent_name: must be a string"},
		{"signup_for_task", args{"agent_name": nil}, "agent_name: must be a string, not null"},
		{"signup_for_task", args{"agent_name": "reviewer"}, "agent coder may not act as reviewer"},
		{"signup_for_task", args{"agent_name": "coder", "wait_seconds": 51}, "wait_seconds: must be 0 to 50"},
		{"signup_for_task", args{"agent_name": "coder", "wait_seconds": -1}, "wait_seconds: must be 0 to 50"},
		{"signup_for_task", args{"agent_name": "coder", "wait_seconds": "1"}, "wait_seconds: must be a whole number"},
		{"signup_for_task", args{"agent_name": "coder", "wait_seconds": 1.5}, "wait_seconds: must be a whole number"},
		{"signup_for_task", args{"agent_name": "coder", "color": "red"}, "color: is not a known argument; known are agent_name, wait_seconds"},
		{"signup_for_task", args{"agent_name": "coder", "agentName": "coder"}, "is given twice"},
		{"signup_for_task", args{"Agent_Name": "coder"}, "Agent_Name: is not a known argument"},
		{"move_task", args{}, "Error moving task: task_id: is required: the ID of the task; current_agent: is required: the ID of the agent that you are, coder"},
		{
			"move_task",
			args{"task_id": "5a", "current_agent": "coder", "new_agent": "reviewer", "comment": "x"},
			`task_id: must be an id: a positive whole number such as 5 or "5"`,
		},
		{"move_task", args{"task_id": 0, "current_agent": "coder", "new_agent": "reviewer", "comment": "x"}, "task_id: must be an id"},
		{"move_task", args{"task_id": 7.5, "current_agent": "coder", "new_agent": "reviewer", "comment": "x"}, "task_id: must be an id"},
		{"move_task", args{"task_id": -1, "current_agent": "coder", "new_agent": "reviewer", "comment": "x"}, "task_id: must be an id"},
		{"move_task", args{"task_id": 1, "current_agent": "coder", "new_agent": "reviewer", "comment": "\n "}, "comment: must not be blank"},
		{
			"move_task",
			args{"task_id": 1, "current_agent": "coder", "new_agent": "reviewer", "comment": long},
			"comment: must be at most 65536 bytes",
		},
		{
			"move_task",
			args{"task_id": 1, "current_agent": "reviewer", "new_agent": "coder", "comment": "x"},
			"agent coder may not act as reviewer",
		},
		{"move_task", args{"task_id": 1, "current_agent": "coder", "new_agent": "zoe", "comment": "x"}, "unknown agent: zoe (known agents: "},
		{"batch_signup_for_tasks", args{"agent_name": "coder"}, "count: is required"},
		{"batch_signup_for_tasks", args{"agent_name": "coder", "count": 0}, "count: must be 1 to 50"},
		{"batch_signup_for_tasks", args{"agent_name": "coder", "count": 51}, "count: must be 1 to 50"},
		{"batch_signup_for_tasks", args{"agent_name": "mute", "count": 1}, "agent coder may not act as mute"},
		{"auto_signup", args{"agent_name": "coder", "max_concurrent": 0}, "max_concurrent: must be 1 to 50"},
		{"auto_signup", args{"agent_name": "reviewer", "max_concurrent": 1}, "agent coder may not act as reviewer"},
		{"complete_and_signup", args{"agent_name": "coder", "task_id": []any{1}}, "task_id: must be an id"},
		{"complete_and_signup", args{"agent_name": "coder", "task_id": 3}, "Task 3 is not assigned to coder"},
		{"complete_and_signup", args{"agent_name": "coder", "task_id": 1, "claim": 77}, "Claim 77 of task 1 is stale"},
		{"reassign_multiple_tasks", args{"task_ids": []any{}, "new_agent": "reviewer", "comment": "x"}, "task_ids: must name 1 to 500 tasks"},
		{"reassign_multiple_tasks", args{"task_ids": []any{1, "x"}, "new_agent": "reviewer", "comment": "x"}, "task_ids[1]: must be an id"},
		{"reassign_multiple_tasks", args{"task_ids": "1", "new_agent": "reviewer", "comment": "x"}, "task_ids: must be a list"},
		{"reassign_multiple_tasks", args{"task_ids": []any{1, 3}, "new_agent": "reviewer", "comment": "x"}, "Task 3 is not assigned to coder"},
		{"get_my_queue", args{"agent_name": "reviewer"}, "agent coder may not act as reviewer"},
		{"get_my_queue", args{"agent_name": "coder", "limit": 501}, "limit: must be 1 to 500"},
		{"get_my_queue", args{"agent_name": "coder", "after": "nonsense"}, "cursor"},
		{"get_my_queue", args{"agent_name": "coder", "full": "yes"}, "full: must be true or false"},
		{"create_task", args{}, "title: is required"},
		{"create_task", args{"title": "x\ny"}, "title: must be one line"},
		{"create_task", args{"title": strings.Repeat("x", 201)}, "title: must be 1 to 200 characters, not 201"},
		{"create_task", args{"title": "x", "owner": "zoe"}, "unknown agent: zoe"},
		{"create_task", args{"title": "x", "status": "done"}, "status: must be one of draft, active"},
		{"create_task", args{"title": "x", "priority": 1_000_001}, "priority: must be -1000000 to 1000000"},
		{"create_task", args{"title": "x", "createdBy": "maya"}, "createdBy: never changes; leave it out"},
		{
			"create_task",
			args{"title": "x", "steps": []any{args{"title": "y", "taskId": 2}}},
			"steps[0].taskId: is written only by create_subtask",
		},
		{"create_task", args{"title": "x", "steps": []any{"y"}}, "steps[0]: must be an object"},
		{
			"create_task",
			args{"title": "x", "steps": []any{args{"title": strings.Repeat("é", 61)}}},
			"steps[0].title: must be 1 to 60 characters, not 61",
		},
		{
			"create_task",
			args{"title": "x", "resources": []any{args{"type": "url", "value": "ftp://x"}}},
			"resources[0].value: must be an http, https or mailto URL",
		},
		{"get_task", args{"taskId": 99}, "Task not found: 99"},
		{"get_task", args{"id": 4}, "id: is not a known argument; use taskId"},
		{"get_task", args{"taskId": 1, "comments_after": -1}, "comments_after: must be an id"},
		{"update_task", args{"taskId": 1}, "Nothing to change: send at least one of title, "},
		{"update_task", args{"taskId": 1, "version": 1}, "Nothing to change"},
		{"todo_count", args{"agent_id": ""}, "agent_id: must name an agent; leave it out for your own list"},
		{"update_task", args{"taskId": 1, "status": "sleeping"}, "status: must be one of"},
		{"update_task", args{"taskId": 1, "id": 7}, "id: never changes; leave it out"},
		{"update_task", args{"taskId": 1, "version": 0}, "version: must be at least 1"},
		{"update_task", args{"taskId": 1, "status": "draft"}, "draft"},
		{"update_task", args{"taskId": 3, "title": "mine"}, "agent coder may not change task 3"},
		{"complete_task", args{"taskId": 3}, "agent coder may not change task 3"},
		{"complete_task", args{"taskId": 1, "summary": long}, "summary: must be at most 65536 bytes"},
		{"cancel_task", args{"taskId": "one"}, "taskId: must be an id"},
		{"list_tasks", args{"owner": "reviewer"}, "agent coder may not act as reviewer"},
		{"list_tasks", args{"status": "done"}, "status: must be one of draft, active"},
		{"list_history", args{"limit": 0}, "limit: must be 1 to 200"},
		{"list_history", args{"from": "yesterday"}, "from: "},
		{"update_steps", args{"taskId": 1}, "steps: is required"},
		{"update_steps", args{"taskId": 1, "steps": []any{args{"title": " "}}}, "steps[0].title: must not be blank"},
		{"update_step", args{"taskId": 1}, "stepIndex: is required"},
		{"update_step", args{"taskId": 1, "stepIndex": 1}, "stepIndex: step 1 is out of range: task 1 has steps 0 to 0"},
		{"update_step", args{"taskId": 1, "stepIndex": -1}, "stepIndex: must be at least 0"},
		{"update_step", args{"taskId": 1, "stepIndex": 0, "taskID": 2}, "taskID: is not a known argument"},
		{"create_subtask", args{"taskId": 1, "stepIndex": 9, "title": "x"}, "step 9 is out of range"},
		{"create_subtask", args{"taskId": 3, "stepIndex": 0, "title": "x"}, "only the owner of task 3 (reviewer) may create subtasks of it"},
		{"add_resource", args{"taskId": 1, "type": "file", "value": "relative"}, "value: must be an absolute path"},
		{"add_resource", args{"taskId": 1, "type": "box", "value": "/x"}, "type: must be one of url, file"},
		{"remove_resource", args{"taskId": 1, "index": 0}, "resource 0 is out of range: task 1 has no resources"},
		{"add_comment", args{"taskId": 1, "content": ""}, "content: must not be blank"},
		{"add_comment", args{"taskId": 1, "content": "a\x00b"}, "content: must not contain a NUL character"},
		{"notify_user", args{"taskId": 1, "message": "x", "needs_reply": 1}, "needs_reply: must be true or false"},
		{"notify_user", args{"taskId": 3, "message": "x"}, "agent coder may not change task 3"},
		{"set_blocked_by", args{"taskId": 1}, "taskIds: is required"},
		{"set_blocked_by", args{"taskId": 1, "taskIds": []any{99}}, "99"},
		{"set_blocked_by", args{"taskId": 1, "taskIds": []any{1}}, "1"},
		{"create_task", args{"title": "x", "labels": []any{"Not so"}}, "labels[0]: must be 1 to 32 characters of a-z, 0-9 and -"},
		{"create_task", args{"title": "x", "labels": []any{1}}, "labels[0]: must be a string"},
		{"task", args{}, "task takes one of three forms"},
		{"task", args{"task": "a", "description": "b"}, "task takes one of three forms"},
		{"task", args{"task": "a", "operation": "list", "agent_id": "coder"}, "task takes one of three forms"},
		{"task", args{"agent_type": "list", "task": "a"}, "task takes one of three forms"},
		{"task", args{"agent_type": "hand"}, "task takes one of three forms"},
		{"task", args{"operation": "list"}, "task takes one of three forms"},
		{"task", args{"agent_id": "coder", "operation": "shuffle"}, "operation: must be one of lpush, rpush"},
		{"task", args{"agent_id": "coder", "operation": "lpush"}, "item: must not be blank"},
		{"task", args{"agent_id": "coder", "operation": "count", "item": "x"}, "item: count takes no item"},
		{"task", args{"agent_id": "zoe", "operation": "count"}, "unknown agent: zoe"},
		{"task", args{"task": " "}, "task: is required: say what to do"},
		{"task", args{"task": "x", "agent_type": "zoe"}, "unknown agent: zoe"},
		{"task", args{"task": "x", "agent_type": "reviewer"}, "reviewer"},
		{
			"task",
			args{"task": "x", "agent_type": "hand", "estimated_complexity": "huge"},
			"estimated_complexity: must be one of low, medium, high",
		},
		{"task", args{"task": "x", "agent_type": "hand", "taskId": 3}, "only the owner of task 3"},
		{"task", args{"task": "x", "agent_type": "hand", "taskId": 1, "stepIndex": 4}, "stepIndex: step 4 is out of range"},
		{"task", args{"task": "x", "agent_type": "hand", "taskId": 1, "resources": []any{2}}, "resource"},
		{"task", args{"task": "x", "agent_type": "hand", "taskId": 1, "resources": []any{"a"}}, "resources[0]: must be an index"},
		{"task", args{"task": "x", "agent_type": "hand", "wait_seconds": 60}, "wait_seconds: must be 0 to 50"},
		{"task_status", args{}, "run_id: is required"},
		{"task_status", args{"run_id": 9}, "Run not found: 9"},
		{"task_wait", args{"run_id": "x"}, "run_id: must be an id"},
		{"task_stop", args{"run_id": 9}, "Run not found: 9"},
		{"todo_lpush", args{}, "item: is required"},
		{"todo_rpush", args{"item": ""}, "item: must not be blank"},
		{"todo_rpush", args{"item": strings.Repeat("é", 4097)}, "item: must be 1 to 4096 characters, not 4097"},
		{"todo_lpop", args{"item": "x"}, "item: is not a known argument; known are agent_id"},
		{"todo_rpop", args{"agent_id": "zoe"}, "unknown agent: zoe"},
		{"todo_lpeek", args{"agent_id": "../../etc"}, "unknown agent: ../../etc"},
		{"todo_rpeek", args{"agent_id": 1}, "agent_id: must be a string"},
		{"todo_list", args{"limit": 1001}, "limit: must be 1 to 1000"},
		{"todo_list", args{"after": "x"}, "after: must be the cursor"},
		{"todo_count", args{"agent": "coder"}, "agent: is not a known argument"},
	} {
		before := ts.events()
		if got := coder.refused(c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %.100s: %.300s, want %s", c.tool, fmt.Sprint(c.args), got, c.want)
		}
		if after := ts.events(); after != before {
			t.Errorf("%s %.100s logged more than its refusal", c.tool, fmt.Sprint(c.args))
		}
	}
	coder.ok("get_task", args{"taskId": 1})
}

// TestEveryToolRefusesUnknownArguments covers future tools too.
func TestEveryToolRefusesUnknownArguments(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	coder := ts.connect("coder", "/mcp")
	_, res := coder.tools()
	for _, tool := range res.Tools {
		if got := coder.refused(tool.Name, args{"color": "red"}); !strings.Contains(got, "color: is not a known argument") {
			t.Errorf("%s: %s", tool.Name, got)
		}
		var schema struct {
			Properties map[string]struct {
				Description string
				Type        any
			}
		}
		raw, err := json.Marshal(tool.InputSchema)
		if err == nil {
			err = json.Unmarshal(raw, &schema)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range schema.Properties {
			if p.Description == "" || p.Type == nil {
				t.Errorf("%s: %s is not described", tool.Name, name)
			}
		}
		if strings.Contains(string(raw), "oneOf") || strings.Contains(string(raw), "$ref") {
			t.Errorf("%s: its schema is not flat: %s", tool.Name, raw)
		}
	}
}

func TestUnknownToolsAreNamed(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	coder := ts.connect("coder", "/mcp?profile=core")
	for _, name := range []string{"fly", "create_task"} {
		_, err := coder.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args{}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q", name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if text, _ := coder.ok("signup_for_task", args{"agent_name": "coder"}); !strings.HasPrefix(text, "No idle tasks") {
		t.Errorf("the session did not continue: %s", text)
	}
}

func TestAnAgentWithoutTheCapabilitySeesNoTool(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	for _, path := range []string{"/mcp", "/mcp?profile=core"} {
		mute := ts.connect("mute", path)
		if names, _ := mute.tools(); len(names) != 0 {
			t.Errorf("%s: it sees %v", path, names)
		}
		_, err := mute.CallTool(t.Context(), &mcp.CallToolParams{Name: "signup_for_task", Arguments: args{"agent_name": "mute"}})
		if err == nil || !strings.Contains(err.Error(), `unknown tool "signup_for_task"`) {
			t.Errorf("%s: it may call: %v", path, err)
		}
		if _, err := mute.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ik://system/agents/mute/tasks.json"}); err == nil {
			t.Errorf("%s: it reads a resource", path)
		}
	}
}

func TestPeopleMustNameTheAgent(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "one")
	operator, viewer := ts.connect("operator", "/mcp"), ts.connect("viewer", "/mcp")
	for tool, a := range map[string]args{"create_task": {"title": "x"}, "list_tasks": {}, "todo_list": {}} {
		if got := operator.refused(tool, a); !strings.Contains(got, "is required") {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if text, _ := operator.ok("signup_for_task", args{"agent_name": "coder"}); !strings.HasPrefix(text, "Task #1 claimed") {
		t.Error(text)
	}
	viewer.ok("get_task", args{"taskId": "1"})
	got := viewer.refused("complete_task", args{"taskId": 1})
	if !strings.Contains(got, "requires the role agent, operator, reviewer or admin") {
		t.Error(got)
	}
}

func TestTheTodoListIsAResource(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	coder := ts.connect("coder", "/mcp")
	read := func(agent string) (string, error) {
		res, err := coder.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "ik://system/agents/" + agent + "/tasks.json"})
		if err != nil {
			return "", err
		}
		return res.Contents[0].Text, nil
	}
	if got, err := read("coder"); err != nil || got != "[]" {
		t.Errorf("%q %v", got, err)
	}
	for _, item := range []string{"b", "<c> & \"d\"", "é"} {
		coder.ok("todo_rpush", args{"item": item, "agentId": "reviewer"})
	}
	if got, err := read("reviewer"); err != nil || got != `["b","<c> & \"d\"","é"]` {
		t.Errorf("%q %v", got, err)
	}
	for _, agent := range []string{"zoe", "..", "a/b", ""} {
		if got, err := read(agent); err == nil {
			t.Errorf("%q was found: %s", agent, got)
		}
	}
	templates, err := coder.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 ||
		templates.ResourceTemplates[0].URITemplate != "ik://system/agents/{agent_id}/tasks.json" {
		t.Errorf("%+v %v", templates, err)
	}
}

func TestTheResourceSaysThatItsListIsCut(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	coder := ts.connect("coder", "/mcp")
	item := strings.Repeat("x\x01", 2000)
	const n = 20
	for i := range n {
		if _, err := ts.Service.Todo(context.Background(), maya, "coder", task.TodoRPush, fmt.Sprint(i, item)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := coder.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ik://system/agents/coder/tasks.json"})
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	if err := json.Unmarshal([]byte(res.Contents[0].Text), &items); err != nil {
		t.Fatal(err)
	}
	if len(items) == 0 || len(items) == n || len(res.Contents[0].Text) > mcpBytes/2 {
		t.Errorf("got %d items in %d bytes", len(items), len(res.Contents[0].Text))
	}
	if len(res.Contents) != 2 {
		t.Fatalf("got %d items of %d, and nothing says that more follow", len(items), n)
	}
	note := res.Contents[1].Text
	if !strings.Contains(note, fmt.Sprintf("first %d items", len(items))) || !strings.Contains(note, "todo_list") {
		t.Error(note)
	}
	after := strings.Trim(note[strings.LastIndex(note, " ")+1:], `"`)
	for after != "" {
		_, m := coder.ok("todo_list", args{"agent_id": "coder", "after": after})
		for _, v := range m["items"].([]any) {
			items = append(items, v.(string))
		}
		after, _ = m["next"].(string)
	}
	for i, got := range items {
		if got != fmt.Sprint(i, item) {
			t.Fatalf("item %d is wrong", i)
		}
	}
	if len(items) != n {
		t.Errorf("got %d of %d items in all", len(items), n)
	}
}

func TestTheWorkGuideIsAPrompt(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	res, err := ts.connect("coder", "/mcp").GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "work-guide"})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Messages[0].Content.(*mcp.TextContent).Text
	names, _ := ts.connect("coder", "/mcp").tools()
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if strings.Contains(word, "_") && !strings.Contains(strings.Join(names, " ")+" agent_type agent_id wait_seconds needs_reply", word) {
			t.Errorf("the guide names %s, which is not a tool", word)
		}
	}
}

// A tool that the caller may not call is recorded, as a route is.
func TestRefusedToolsAreRecorded(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("reviewer", "another's")
	for range 3 {
		ts.connect("coder", "/mcp").refused("complete_task", args{"taskId": 1})
	}
	list, err := ts.Service.Events(t.Context(), task.SystemActor, task.EventFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list {
		if e.Kind == task.EvRefused && e.Actor == "coder" && strings.Contains(string(e.Changes), `"tool complete_task"`) {
			n++
		}
	}
	if n != 1 || ts.Service.Refusals()["relation"] != 3 {
		t.Errorf("got %d recorded, %v; want 1 of 3", n, ts.Service.Refusals())
	}
}
