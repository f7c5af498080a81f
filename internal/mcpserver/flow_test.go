package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/task"
)

// taskIn decodes the task in the text of an answer, below its first line.
func taskIn(t *testing.T, text string) (tk task.Task) {
	t.Helper()
	_, body, found := strings.Cut(text, "\n\n")
	if !found {
		body = text
	}
	if err := json.Unmarshal([]byte(body), &tk); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return tk
}

func wants(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func starts(t *testing.T, text, line string) {
	t.Helper()
	if !strings.HasPrefix(text, line) {
		t.Errorf("the answer begins %.90q, want %q", text, line)
	}
}

func TestATaskMovesFromOneAgentToAnother(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	id := ts.task("coder", "Build the gate").String()
	a, b := ts.connect("coder", "/mcp"), ts.connect("reviewer", "/mcp")

	text, _ := a.ok("signup_for_task", args{"agent_name": "coder"})
	starts(t, text, "Task #"+id+" claimed and set to working status\n\n{\n  \"id\"")
	text, _ = a.ok("move_task", args{
		"task_id": id, "current_agent": "coder",
		"new_agent": "reviewer", "comment": "  please look at the hinges ",
	})
	starts(t, text, "Task #"+id+" transferred from coder to reviewer\n\n{")
	tk := taskIn(t, text)
	wants(t, "owner", tk.Owner, "reviewer")
	wants(t, "work status", string(tk.WorkStatus), "idle")

	text, _ = b.ok("signup_for_task", args{"agent_name": "reviewer"})
	tk = taskIn(t, text)
	if len(tk.Comments) != 1 || tk.Comments[0].Content != "please look at the hinges" || tk.Comments[0].Author != "coder" {
		t.Errorf("got the comments %+v", tk.Comments)
	}
	text, _ = b.ok("complete_task", args{"taskId": id, "summary": "hinges are fine", "full": true})
	tk = taskIn(t, text)
	wants(t, "status", string(tk.Status), "done")
	wants(t, "summary", tk.Summary, "hinges are fine")
	text, _ = b.ok("signup_for_task", args{"agent_name": "reviewer"})
	wants(t, "the empty queue", text, "No idle tasks available in queue for agent: reviewer")
}

func TestATaskCanBeCompletedDuringAPause(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	id := ts.task("coder", "Build the gate").String()
	ts.task("coder", "Paint it")
	a := ts.connect("coder", "/mcp")
	a.ok("signup_for_task", args{"agent_name": "coder"})
	if _, err := ts.Service.Pause(t.Context(), maya, "coder", "wrong color"); err != nil {
		t.Fatal(err)
	}
	text, _ := a.ok("complete_and_signup", args{"task_id": id, "agent_name": "coder"})
	starts(t, text, "Task #"+id+" completed\nNo task claimed: agent coder has been paused by "+
		"maya since 2026-03-02 09:00 UTC: wrong color\n\n{")
}

func TestAChainKeepsItsCommentsInOrder(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	id := ts.task("coder", "Pass it on").String()
	clients := map[string]*client{
		"coder":    ts.connect("coder", "/mcp"),
		"reviewer": ts.connect("reviewer", "/mcp"), "mute": ts.connect("operator", "/mcp"),
	}
	chain := []string{"coder", "reviewer", "mute", "coder", "reviewer"}
	var want []string
	for i, from := range chain[:len(chain)-1] {
		c := clients[from]
		c.ok("signup_for_task", args{"agent_name": from})
		words := fmt.Sprintf("leg %d", i)
		want = append(want, from+": "+words)
		c.ok("move_task", args{"task_id": id, "current_agent": from, "new_agent": chain[i+1], "comment": words})
	}
	text, _ := clients["coder"].ok("get_task", args{"taskId": id})
	var got []string
	for _, c := range taskIn(t, text).Comments {
		got = append(got, c.Author+": "+c.Content)
	}
	wants(t, "the thread", strings.Join(got, "; "), strings.Join(want, "; "))
}

func TestASubtaskBelongsToItsStep(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	id := ts.task("coder", "Two halves").String()
	c := ts.connect("coder", "/mcp")
	c.ok("update_steps", args{"taskId": id, "steps": []any{args{"title": "one"}, args{"title": "two"}}})
	c.ok("create_subtask", args{"taskId": id, "stepIndex": 1, "title": "The second half", "owner": "reviewer"})
	text, _ := c.ok("get_task", args{"taskId": id})
	child := taskIn(t, text).Steps[1].TaskID

	t.Run("update_step changes all but the link", func(t *testing.T) {
		if text := c.refused("update_step", args{"taskId": id, "stepIndex": 1, "subtask": "9"}); !strings.Contains(text, "subtask") {
			t.Errorf("got %q", text)
		}
		c.ok("update_step", args{"taskId": id, "stepIndex": 1, "title": "second", "details": "more", "done": true})
		text, _ := c.ok("get_task", args{"taskId": id})
		if s := taskIn(t, text).Steps[1]; s.TaskID != child || !s.Done || s.Title != "second" {
			t.Errorf("got the step %+v", s)
		}
	})
	t.Run("update_steps is refused while a step is linked, and says what to do", func(t *testing.T) {
		if text := c.refused("update_steps", args{"taskId": id, "steps": []any{args{"title": "new"}}}); !strings.Contains(text, "update_step") {
			t.Errorf("got %q", text)
		}
	})
	t.Run("a second subtask of the step is refused", func(t *testing.T) {
		c.refused("create_subtask", args{"taskId": id, "stepIndex": 1, "title": "again", "owner": "reviewer"})
	})
	t.Run("completing it does not tick the step of another agent", func(t *testing.T) {
		r := ts.connect("reviewer", "/mcp")
		r.ok("signup_for_task", args{"agent_name": "reviewer"})
		r.ok("complete_task", args{"taskId": child.String(), "summary": "done"})
		text, _ := c.ok("get_task", args{"taskId": child.String()})
		wants(t, "the subtask, read by the parent's owner", string(taskIn(t, text).Status), "done")
	})
}

func TestACancelReachesThreeLevels(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	c := ts.connect("coder", "/mcp")
	ids := []string{ts.task("coder", "Root").String()}
	for i := range 3 {
		at := ids[len(ids)-1]
		c.ok("update_steps", args{"taskId": at, "steps": []any{args{"title": "below"}}})
		c.ok("create_subtask", args{"taskId": at, "stepIndex": 0, "title": fmt.Sprintf("Level %d", i+1), "owner": "coder"})
		text, _ := c.ok("get_task", args{"taskId": at})
		ids = append(ids, taskIn(t, text).Steps[0].TaskID.String())
	}
	_, content := c.ok("cancel_task", args{"taskId": ids[0], "reason": "not wanted"})
	wants(t, "canceled tasks", fmt.Sprint(content["canceled"]), "["+strings.Join(ids, " ")+"]")
	for _, id := range ids {
		text, _ := c.ok("get_task", args{"taskId": id})
		wants(t, "task "+id, string(taskIn(t, text).Status), "canceled")
	}
}
