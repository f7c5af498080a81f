package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/task"
)

// TestAnswersAreShort limits what each answer costs an agent that works on a
// typical task: a description of 3 KB, ten steps with details, seven of them
// done, ten comments, two resources. Sizes are the bytes of each of the two
// forms of an answer, of which a client gives its model one.
func TestAnswersAreShort(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ctx := context.Background()
	steps := make([]task.Step, 10)
	for i := range steps {
		steps[i] = task.Step{Title: fmt.Sprintf("Step %d: change one part", i), Details: strings.Repeat("what to look at, ", 9)}
	}
	makeTask := func(title string) task.ID {
		tk, err := ts.Service.CreateTask(ctx, maya, task.New{
			Title: title, Owner: "coder", Description: strings.Repeat("Describe what is wanted here. ", 100), Steps: steps, NoStart: true,
			Resources: []task.Resource{
				{Type: "url", Value: "https://example.org/issue/12", Label: "the report"}, {Type: "file", Value: "/src/auth.go"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if _, err := ts.Service.Comment(ctx, maya, tk.ID, fmt.Sprintf("Comment %d: %s", i, strings.Repeat("words ", 15))); err != nil {
				t.Fatal(err)
			}
		}
		done := true
		for i := range 7 {
			if _, err := ts.Service.UpdateStep(ctx, maya, tk.ID, i, task.StepPatch{Done: &done}); err != nil {
				t.Fatal(err)
			}
		}
		return tk.ID
	}
	for i := range 42 {
		makeTask(fmt.Sprintf("Task %d of the usual kind", i))
	}
	for _, a := range []struct {
		tool  string
		args  args
		limit int // bytes
	}{
		{"signup_for_task", args{"agent_name": "coder"}, 6000},
		{"list_tasks", args{"limit": 40}, 5000},
		{"get_my_queue", args{"agent_name": "coder", "limit": 40}, 5000},
		{"update_step", args{"taskId": 1, "stepIndex": 7, "done": true}, 300},
		{"update_step", args{"taskId": 1, "stepIndex": 8, "title": "Another title", "details": "and details"}, 300},
		{"add_comment", args{"taskId": 1, "content": "Half of it is done."}, 300},
		{"add_resource", args{"taskId": 1, "type": "file", "value": "/src/main.go"}, 300},
		{"remove_resource", args{"taskId": 1, "index": 2}, 300},
		{"update_task", args{"taskId": 1, "priority": 3}, 300},
		{"create_subtask", args{"taskId": 1, "stepIndex": 9, "title": "Review it", "owner": "reviewer"}, 300},
		{"create_task", args{"title": "One more"}, 300},
		{"update_steps", args{"taskId": 2, "steps": []any{args{"title": "All of it"}}}, 300},
		{"set_blocked_by", args{"taskId": 2, "taskIds": []any{"3"}}, 300},
		{"heartbeat", args{"taskId": 1}, 300},
		{"notify_user", args{"taskId": 1, "message": "The preview is up."}, 300},
		{"complete_task", args{"taskId": 1, "summary": "Changed every part."}, 300},
		{"cancel_task", args{"taskId": 2, "reason": "not needed"}, 300},
		{"list_history", args{}, 800},
		{"todo_rpush", args{"item": "look again"}, 60},
		{"get_task", args{"taskId": 3}, 6600},
	} {
		_, got, _ := ts.answer("coder", "/mcp", rpc(1, a.tool, oneLine(t, a.args)))
		text, isError := result(t, got)
		if isError {
			t.Fatalf("%s: %s", a.tool, text)
		}
		var structured struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		if err := json.Unmarshal([]byte(got), &structured); err != nil {
			t.Fatal(err)
		}
		data := len(structured.Result.StructuredContent)
		t.Logf("%-15s %5d bytes of text, %5d of data, about %d tokens", a.tool, len(text), data, data/4)
		if data > a.limit || len(text) > a.limit+a.limit/4 {
			t.Errorf("%s: more than %d bytes of data, or a quarter more of text: %.400s", a.tool, a.limit, text)
		}
	}
}

// TestAClaimLeavesOutWhatAFurtherCallReads lists what a claim omits from a plan,
// and the answers that contain it.
func TestAClaimLeavesOutWhatAFurtherCallReads(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	details := strings.Repeat("what to look at, ", 9)
	made := task.New{Title: "Build the gate", Owner: "coder", NoStart: true, Steps: []task.Step{
		{Title: "Measure", Details: "a" + details, Done: true},
		{Title: "Saw", Details: "b" + details},
		{Title: "Paint", Details: "c" + details},
	}, Resources: []task.Resource{{Type: "file", Value: "/src/gate.go"}}}
	if _, err := ts.Service.CreateTask(context.Background(), maya, made); err != nil {
		t.Fatal(err)
	}
	c := ts.connect("coder", "/mcp")
	text, _ := c.ok("signup_for_task", args{"agent_name": "coder"})
	for what, want := range map[string]bool{
		"a" + details: false, "b" + details: true, "c" + details: false,
		`"stepsNote": "other details: get_task with stepIndex"`: true, `"url": "/src/gate.go"`: true,
		`"resources"`: false, `"threadId"`: false, `"expiresAt"`: true, `"comments": []`: true,
	} {
		if strings.Contains(text, what) != want {
			t.Errorf("a claim with %q: %v, want %v:\n%s", what, !want, want, text)
		}
	}
	text, _ = c.ok("update_step", args{"taskId": 1, "stepIndex": 1, "done": true})
	if want := `"next":"2: Paint","resources":1,"nextDetails":"c` + details[:100]; !strings.Contains(text, want) {
		t.Errorf("%q is not in %s", want, text)
	}
	text, _ = c.ok("get_task", args{"taskId": 1, "stepIndex": 0})
	if !strings.Contains(text, "a"+details) || !strings.Contains(text, "c"+details) || !strings.Contains(text, `"resources":[{`) {
		t.Errorf("get_task: %s", text)
	}
}

// TestAnswersInOneForm is about clients that give their model both forms: with
// plain calls, and with batches, which the SDK answers.
func TestAnswersInOneForm(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "Build the gate")
	for what, body := range map[string]string{
		"a success": rpc(1, "get_task", `{"taskId":1}`), "a failure": rpc(1, "get_task", `{"taskId":7}`),
		"a success from the SDK": "[" + rpc(1, "get_task", `{"taskId":1}`) + "]",
		"a failure from the SDK": "[" + rpc(1, "get_task", `{"taskId":7}`) + "]",
	} {
		_, both, _ := ts.answer("coder", "/mcp", body)
		status, text, _ := ts.answer("coder", "/mcp?content=text", body)
		if !strings.Contains(both, "structuredContent") || status != 200 || strings.Contains(text, "structuredContent") ||
			!strings.Contains(text, `"content":[{"type":"text","text":"`) ||
			strings.Contains(what, "failure") != strings.Contains(text, "Task not found: 7") {
			t.Errorf("%s: got both forms %s\none form %d %s", what, both, status, text)
		}
	}
}

func TestAChangeReturnsTheWholeTaskWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.task("coder", "Build the gate")
	c := ts.connect("coder", "/mcp")
	text, _ := c.ok("update_steps", args{"taskId": 1, "steps": []any{args{"title": "Measure"}, args{"title": "Saw"}}})
	if want := `{"id":"1","version":2,"owner":"coder","status":"active","workStatus":"idle","steps":"0/2","next":"0: Measure"}`; text != want {
		t.Errorf("short answer: got %s", text)
	}
	text, _ = c.ok("update_step", args{"taskId": 1, "stepIndex": 0, "done": true, "full": true})
	if tk := taskIn(t, text); tk.Title != "Build the gate" || len(tk.Steps) != 2 || !tk.Steps[0].Done {
		t.Errorf("full answer: got %s", text)
	}
	text, _ = c.ok("list_tasks", args{})
	if want := `{"tasks":[{"id":"1","title":"Build the gate","owner":"coder","status":"active","workStatus":"idle","steps":"1/2"}]}`; text != want {
		t.Errorf("list: got %s", text)
	}
}

// TestTheListOfAgentsSaysHowToDelegate checks for the text that does not fit into
// the description of the tool task.
func TestTheListOfAgentsSaysHowToDelegate(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	c := ts.connect("coder", "/mcp")
	_, m := c.ok("task", args{"agent_type": "list"})
	how, _ := m["how"].(string)
	for _, want := range []string{
		"Delegate work that would fill your context", "In the request, say what you want", "Refactor the authentication module in auth.go",
	} {
		if !strings.Contains(how, want) {
			t.Errorf("%q is not in %q", want, how)
		}
	}
	if n := strings.Count(how, "\ntask {"); n != 2 {
		t.Errorf("got %d examples", n)
	}
}
