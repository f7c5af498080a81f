package mcpserver_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/service"
	"taskyard/task"
)

const ownAgent = "---\ndescription: keeps to itself\ntools: read, task\nrunner: script\ncapabilities: [tasks:own]\n---\nKeep to it.\n"

// keeper defines the agent own, which has the capability tasks:own, with its token.
func (ts *testServer) keeper() {
	ts.t.Helper()
	if _, err := ts.Service.SaveAgent(ts.t.Context(), maya, "own", ownAgent, "", false); err != nil {
		ts.t.Fatal(err)
	}
	ts.Mint("own", service.NewToken{Agent: "own"})
}

// TestNoToolRevealsTasksOfOthers calls every listed tool for someone else's task or
// run, as an agent with tasks:own. The answer must be the same as for one that does
// not exist, and reveal nothing.
func TestNoToolRevealsTasksOfOthers(t *testing.T) {
	t.Parallel()
	const secret, none = "Zebra", 999999
	ts := newTestServer(t)
	ts.keeper()
	ctx := t.Context()
	other := task.New{
		Title: secret, Description: secret, Owner: "reviewer", NoStart: true, Steps: []task.Step{{Title: secret}},
		Resources: []task.Resource{{Type: "file", Value: "/" + secret}},
	}
	stranger, err := ts.Service.CreateTask(ctx, maya, other)
	if err != nil {
		t.Fatal(err)
	}
	archived, err := ts.Service.CreateTask(ctx, maya, other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Service.CompleteTask(ctx, maya, archived.ID, secret, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Service.Todo(ctx, maya, "reviewer", "rpush", secret); err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Service.Delegate(ctx, task.Actor{Name: "coder", Role: task.RoleAgent},
		task.Delegation{Task: secret, AgentType: "hand"}); err != nil {
		t.Fatal(err)
	}
	own := ts.connect("own", "/mcp")
	first := map[string]args{}
	for _, s := range script {
		if _, known := first[s.tool]; !known {
			first[s.tool] = s.args
		}
	}
	before, aimed := ts.events(), 0
	for _, tool := range ts.tools("own") {
		a := maps.Clone(first[tool])
		for k := range a {
			switch k {
			case "agent_name", "current_agent":
				a[k] = "own"
			case "agent_id":
				a[k] = "reviewer"
			case "new_agent":
				a[k] = "coder"
			}
		}
		if strings.HasPrefix(tool, "todo_") {
			a["agent_id"] = "reviewer"
		}
		if tool == "task" {
			a = args{"task": "x", "agent_type": "hand", "task_id": 0}
		}
		of := func(id int) (string, bool) {
			at := false
			for k := range a {
				switch k {
				case "taskId", "task_id", "run_id":
					a[k], at = id, true
				case "task_ids":
					a[k], at = []any{id}, true
				}
			}
			if tool == "create_task" {
				a = args{"title": "x", "blockedBy": []any{id}}
				at = true
			}
			text := resultText(own.call(tool, a))
			if strings.Contains(text, secret) {
				t.Errorf("%s of %d reveals: %s", tool, id, text)
			}
			return regexp.MustCompile(`\b`+task.ID(id).String()+`\b`).ReplaceAllString(text, "N"), at
		}
		want, at := of(none)
		for id := 1; id <= 3; id++ { // the stranger's, the archived, the delegated; run 1
			if got, _ := of(id); got != want {
				t.Errorf("%s of %d: got %s, want %s", tool, id, got, want)
			}
		}
		if at {
			aimed++
		}
	}
	if aimed < 15 {
		t.Errorf("only %d tools were called for a task", aimed)
	}
	if n := ts.events(); n != before {
		t.Errorf("got %d events, want %d: something was changed", n, before)
	}
	for _, tool := range []string{"todo_list", "todo_count", "todo_lpeek", "todo_rpop"} {
		if text := own.refused(tool, args{"agent_id": "reviewer"}); !strings.Contains(text, "tasks:own") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if res, err := own.ReadResource(ctx, &mcp.ReadResourceParams{URI: "ik://system/agents/reviewer/tasks.json"}); err == nil {
		t.Errorf("it reads the list of another: %v", res.Contents[0])
	}
	if stranger.ID != 1 {
		t.Errorf("got the other agent's task %d", stranger.ID)
	}
	t.Run("it has access to its own", func(t *testing.T) {
		id := ts.task("own", "Mine")
		for tool, a := range map[string]args{
			"get_task": {"taskId": id, "why": true}, "add_comment": {"taskId": id, "content": "x"}, "update_task": {"taskId": id, "priority": 3},
			"update_steps": {"taskId": id, "steps": []any{args{"title": "One"}}}, "set_blocked_by": {"taskId": id, "taskIds": []any{}},
			"list_tasks": {}, "list_history": {}, "get_my_queue": {"agent_name": "own"},
			"todo_rpush": {"item": "x"}, "notify_user": {"taskId": id, "message": "x"},
		} {
			if text, _ := own.ok(tool, a); strings.Contains(text, secret) {
				t.Errorf("%s reveals: %s", tool, text)
			}
		}
		for _, c := range []struct {
			tool string
			args args
		}{
			{"list_tasks", args{"owner": "reviewer"}},
			{"list_tasks", args{"q": secret}},
			{"get_my_queue", args{"agent_name": "reviewer"}},
			{"list_history", args{"owner": "reviewer"}},
		} {
			if text := resultText(own.call(c.tool, c.args)); strings.Contains(strings.ReplaceAll(text, `"q":"`+secret, ""), secret) {
				t.Errorf("%s %v reveals: %s", c.tool, c.args, text)
			}
		}
		if text, _ := own.ok("signup_for_task", args{"agent_name": "own"}); !strings.Contains(text, "Mine") {
			t.Error(text)
		}
		own.ok("complete_task", args{"taskId": id})
	})
}
