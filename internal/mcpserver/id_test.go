package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// ids are all arguments that take an ID, or a list of IDs, with the other required
// arguments, so that only the ID matters. %v is the ID.
var ids = map[string]string{
	"add_comment.taskId":               `{"taskId":%v,"content":"x"}`,
	"add_resource.taskId":              `{"taskId":%v,"type":"url","value":"https://example.org"}`,
	"cancel_task.taskId":               `{"taskId":%v}`,
	"complete_and_signup.task_id":      `{"task_id":%v,"agent_name":"coder"}`,
	"complete_task.taskId":             `{"taskId":%v}`,
	"create_subtask.taskId":            `{"taskId":%v,"stepIndex":0,"title":"x"}`,
	"create_task.blockedBy":            `{"title":"x","start":false,"blockedBy":[%v]}`,
	"get_task.taskId":                  `{"taskId":%v}`,
	"get_task.comments_after":          `{"taskId":5,"comments_after":%v}`,
	"list_tasks.parent":                `{"parent":%v}`,
	"move_task.task_id":                `{"task_id":%v,"current_agent":"coder","new_agent":"reviewer","comment":"x"}`,
	"notify_user.taskId":               `{"taskId":%v,"message":"x"}`,
	"reply_review.taskId":              `{"taskId":%v,"comment":1,"state":"fixed"}`,
	"reply_review.comment":             `{"taskId":5,"comment":%v,"state":"fixed"}`,
	"reassign_multiple_tasks.task_ids": `{"task_ids":[%v],"new_agent":"reviewer","comment":"x"}`,
	"remove_resource.taskId":           `{"taskId":%v,"index":0}`,
	"set_blocked_by.taskId":            `{"taskId":%v,"taskIds":[]}`,
	"set_blocked_by.taskIds":           `{"taskId":1,"taskIds":[%v]}`,
	"heartbeat.taskId":                 `{"taskId":%v}`,
	"release_task.taskId":              `{"taskId":%v}`,
	"task.taskId":                      `{"task":"x","agent_type":"nobody","taskId":%v}`,
	"task_status.run_id":               `{"run_id":%v}`,
	"task_stop.run_id":                 `{"run_id":%v}`,
	"task_wait.run_id":                 `{"run_id":%v,"wait_seconds":0}`,
	"append_step.taskId":               `{"taskId":%v,"title":"x"}`,
	"insert_step.taskId":               `{"taskId":%v,"stepIndex":0,"title":"x"}`,
	"update_step.taskId":               `{"taskId":%v,"stepIndex":0,"done":true}`,
	"update_steps.taskId":              `{"taskId":%v,"steps":[]}`,
	"update_task.taskId":               `{"taskId":%v,"priority":1}`,
}

// TestIDsMayBeStringsOrNumbers checks that each ID is declared as a string, which
// is what answers contain, and that 5 does exactly what "5" does.
func TestIDsMayBeStringsOrNumbers(t *testing.T) {
	t.Parallel()
	strs, nums := newTestServer(t), newTestServer(t)
	for _, ts := range []*testServer{strs, nums} {
		for range 5 {
			ts.task("coder", "one of five")
		}
	}
	_, res := strs.connect("coder", "/mcp").tools()
	declared := map[string]bool{}
	for _, tool := range res.Tools {
		var schema struct {
			Properties map[string]struct {
				Type, Description string
				Items             struct{ Type string }
			}
		}
		if err := json.Unmarshal([]byte(oneLine(t, tool.InputSchema)), &schema); err != nil {
			t.Fatalf("%s: a type is not a single name: %v", tool.Name, err)
		}
		for name, p := range schema.Properties {
			declared[tool.Name+"."+name] = p.Type == "string" || p.Type == "array" && p.Items.Type == "string"
		}
	}
	for _, at := range slices.Sorted(maps.Keys(ids)) {
		form := ids[at]
		if !declared[at] {
			t.Errorf("%s is not declared as text", at)
		}
		tool, _, _ := strings.Cut(at, ".")
		_, s, _ := strs.answer("coder", "/mcp", rpc(1, tool, fmt.Sprintf(form, `"5"`)))
		_, n, _ := nums.answer("coder", "/mcp", rpc(1, tool, fmt.Sprintf(form, `5`)))
		if s != n || strings.Contains(s, "must be an id") {
			t.Errorf("%s: \"5\" and 5 differ:\n%s\n%s", at, s, n)
		}
		for _, bad := range []string{
			`"5a"`, `""`, `" 5"`, `"05"`, `5.0`, `5e0`, `-5`, `true`, `null`,
			`{}`, `[5]`, `99999999999999999999`, `"99999999999999999999"`, `"5\u0000"`,
		} {
			if _, got, _ := strs.answer("coder", "/mcp", rpc(1, tool, fmt.Sprintf(form, bad))); !strings.Contains(got, "must be an id") {
				t.Errorf("%s accepts %s: %s", at, bad, got)
			}
		}
	}
	for at := range declared {
		_, name, _ := strings.Cut(at, ".")
		if n := strings.ToLower(strings.ReplaceAll(name, "_", "")); (strings.HasPrefix(n, "taskid") || n == "runid") && ids[at] == "" {
			t.Errorf("%s is not tested", at)
		}
	}
}
