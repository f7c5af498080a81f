package mcpserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// hinted contains the hints of a tool in tools/list, as a client reads them.
type hinted struct {
	Name        string
	Annotations struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
}

// hinted returns the tools as they are on the wire: the client of the SDK cannot
// distinguish a hint that is false from a missing one.
func (ts *testServer) hinted() []hinted {
	ts.t.Helper()
	_, raw, _ := ts.answer("coder", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list struct{ Result struct{ Tools []hinted } }
	if err := json.Unmarshal([]byte(raw), &list); err != nil || len(list.Result.Tools) == 0 {
		ts.t.Fatalf("%v in %s", err, raw)
	}
	return list.Result.Tools
}

func (ts *testServer) namesWhere(is func(hinted) bool) string {
	var names []string
	for _, h := range ts.hinted() {
		if is(h) {
			names = append(names, h.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func yes(hint *bool) bool { return hint != nil && *hint }
func no(hint *bool) bool  { return hint != nil && !*hint }

// TestNoWritingToolNeedsAPersonToBeCalled checks what Codex requires of a tool that
// does not only read; a missing hint counts as true.
func TestNoWritingToolNeedsAPersonToBeCalled(t *testing.T) {
	t.Parallel()
	asks := newTestServer(t).namesWhere(func(h hinted) bool {
		a := h.Annotations
		return !yes(a.ReadOnlyHint) && !(no(a.DestructiveHint) && no(a.OpenWorldHint))
	})
	wants(t, "tools that a client without a person refuses", asks, "cancel_task remove_resource")
}

func TestReadingToolsAreHintedAsSuch(t *testing.T) {
	t.Parallel()
	reads := newTestServer(t).namesWhere(func(h hinted) bool { return yes(h.Annotations.ReadOnlyHint) })
	wants(t, "tools that only read", reads,
		"get_my_queue get_task list_history list_tasks task_status task_wait todo_count todo_list todo_lpeek todo_rpeek")
}

// TestASecondCallOfAnIdempotentToolChangesNothing calls each tool with the hint
// twice on its own task.
func TestASecondCallOfAnIdempotentToolChangesNothing(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	calls := map[string]args{
		"update_task": {"title": "Paint it red"}, "complete_task": {}, "cancel_task": {}, "task_stop": nil,
		"update_step": {"stepIndex": 0, "done": true}, "append_step": {"title": "x"}, "insert_step": {"stepIndex": 0, "title": "x"},
		"set_blocked_by": {"taskIds": []any{ts.task("reviewer", "Buy paint").String()}},
	}
	c := ts.connect("coder", "/mcp")
	for _, h := range ts.hinted() {
		if !yes(h.Annotations.IdempotentHint) || yes(h.Annotations.ReadOnlyHint) {
			continue
		}
		a, known := calls[h.Name]
		if !known {
			t.Errorf("%s: add its arguments to this test", h.Name)
			continue
		}
		_, made := c.ok("create_task", args{"title": "Paint it", "start": false, "steps": []any{args{"title": "Look"}}})
		id := made["id"]
		if h.Name == "task_stop" {
			_, run := c.ok("task", args{"task": "Count the tiles", "agent_type": "hand", "wait_seconds": 0})
			a, id = args{"run_id": run["runId"]}, run["taskId"]
		} else {
			a["taskId"] = id
		}
		c.ok(h.Name, a)
		once, _ := c.ok("get_task", args{"taskId": id})
		c.call(h.Name, a) // refused for a closed task
		if twice, _ := c.ok("get_task", args{"taskId": id}); twice != once {
			t.Errorf("%s: the second call changed the task from\n%s\nto\n%s", h.Name, once, twice)
		}
	}
}

func TestCoreToolsAskAlwaysToBeLoaded(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	core, _ := ts.connect("coder", "/mcp?profile=core").tools()
	_, all := ts.connect("coder", "/mcp").tools()
	for _, tool := range all.Tools {
		if got := tool.Meta["anthropic/alwaysLoad"] == true; got != slices.Contains(core, tool.Name) {
			t.Errorf("%s asks always to be loaded: %v", tool.Name, got)
		}
	}
}
