package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// mcpBytes is the size limit of an answer over MCP.
const mcpBytes = 256 << 10

func TestAnswersStayWithinTheirByteLimit(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	ts := newTestServer(t)
	steps := make([]task.Step, 15)
	for i := range steps {
		steps[i] = task.Step{Title: "s", Details: strings.Repeat(`"quoted" `, 7000)}
	}
	for range 20 {
		if _, err := ts.Service.CreateTask(context.Background(), maya, task.New{
			Title: "large", Owner: "coder",
			Steps: steps, Description: strings.Repeat("\n", 60_000), NoStart: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(tool, arguments string) (text string, content map[string]any) {
		t.Helper()
		status, got, _ := ts.answer("coder", "/mcp", rpc(1, tool, arguments))
		text, isError := result(t, got)
		if status != 200 || isError {
			t.Fatalf("%s: %d %.300s", tool, status, got)
		}
		if len(got) > mcpBytes {
			t.Errorf("%s %s: %d bytes", tool, arguments, len(got))
		}
		return text, nil
	}
	c := ts.connect("coder", "/mcp")
	seen, after := map[string]bool{}, ""
	for range 40 {
		ask("get_my_queue", `{"agent_name":"coder","full":true,"limit":500,"after":"`+after+`"}`)
		_, m := c.ok("get_my_queue", args{"agent_name": "coder", "full": true, "limit": 500, "after": after})
		for _, k := range m["tasks"].([]any) {
			seen[k.(map[string]any)["id"].(string)] = true
		}
		next, more := m["next"].(string)
		if more && !strings.Contains(m["note"].(string), "256 KiB") {
			t.Errorf("the answer does not say that it is cut: %v", m["note"])
		}
		if after = next; !more {
			break
		}
	}
	if len(seen) != 20 {
		t.Errorf("got %d of 20 tasks", len(seen))
	}
	ask("get_task", `{"taskId":1}`)
	ask("get_task", `{"taskId":1,"stepIndex":7}`)
	_, m := c.ok("get_task", args{"taskId": 1, "stepIndex": 7})
	if st := m["steps"].([]any)[7].(map[string]any); len(st["details"].(string)) != 63_000 || st["detailsCut"] != nil {
		t.Errorf("got %d bytes of details", len(st["details"].(string)))
	}
	if st := m["steps"].([]any)[3].(map[string]any); st["detailsCut"] == nil {
		t.Error("another step is not shortened")
	}
	if got := c.refused("get_task", args{"taskId": 1, "stepIndex": 99}); !strings.Contains(got, "stepIndex") {
		t.Error(got)
	}
	ask("batch_signup_for_tasks", `{"agent_name":"coder","count":50}`)
	ask("reassign_multiple_tasks", `{"task_ids":["1"],"new_agent":"hand","comment":"c"}`)
	ask("list_tasks", `{"full":true}`)
}

func TestTheContextOfATaskFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	ts := newTestServer(t)
	for range task.MaxBatch {
		steps := make([]task.Step, 25)
		for i := range steps {
			steps[i].Title = "s"
		}
		tk, err := ts.Service.CreateTask(context.Background(), maya, task.New{Title: "Parent", Owner: "coder", Steps: steps, NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			if _, err := ts.Service.CreateSubtask(context.Background(), maya, tk.ID, i,
				task.New{Title: strings.Repeat("\u65e5", task.MaxTitle), Owner: "hand", NoStart: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, got, _ := ts.answer("coder", "/mcp", rpc(1, "batch_signup_for_tasks", `{"agent_name":"coder","count":50}`))
	if len(got) > mcpBytes {
		t.Errorf("50 tasks with 25 subtasks each: got %d bytes", len(got))
	}
	_, m := ts.connect("coder", "/mcp").ok("get_task", args{"taskId": 1})
	if n := len(m["subtasks"].([]any)); n != task.MaxSubtasks || oneLine(t, m["cut"]) != `["subtasks"]` {
		t.Errorf("got %d subtasks, cut %v", n, m["cut"])
	}
}
