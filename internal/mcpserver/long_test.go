package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// Everything that is read for an answer is bounded, in bytes of JSON: a page of long
// lines has few of them, and says that more follow.
func TestAPageOfLongTextsSaysThatMoreFollow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("of comments", func(t *testing.T) {
		t.Parallel()
		ts := newTestServer(t)
		id, want := ts.task("coder", "Fix the page"), 9
		for range want {
			if _, err := ts.Service.Comment(ctx, maya, id, strings.Repeat("<b>", 3<<10)); err != nil {
				t.Fatal(err)
			}
		}
		coder, seen := ts.connect("coder", "/mcp"), 0
		for after := any(0); after != nil; {
			_, m := coder.ok("get_task", args{"taskId": id, "comments_after": after})
			seen += len(m["comments"].([]any))
			after = m["commentsNext"]
		}
		if seen != want {
			t.Errorf("got %d of %d comments page by page", seen, want)
		}
	})
	t.Run("of a transcript", func(t *testing.T) {
		t.Parallel()
		ts := newTestServer(t)
		d, err := ts.Service.Delegate(ctx, maya, task.Delegation{Task: "Read it", AgentType: "hand"})
		if err != nil {
			t.Fatal(err)
		}
		start, _, err := ts.Service.NextRun(ctx, nil)
		if err != nil || start == nil {
			t.Fatalf("no run was started: %v", err)
		}
		lines := make([]task.Message, 12)
		for i := range lines {
			lines[i] = task.Message{Role: task.SpeakerTool, Type: "tool_result", Content: strings.Repeat("x", 24<<10)}
		}
		if err := ts.Service.AppendTranscript(ctx, d.RunID, start.Run.Lease, lines); err != nil {
			t.Fatal(err)
		}
		all, err := ts.Service.Transcript(ctx, maya, d.RunID, 0, 500) // with the prompt
		if err != nil {
			t.Fatal(err)
		}
		operator, seen := ts.connect("operator", "/mcp"), 0
		for after := any(0); after != nil; {
			_, m := operator.ok("task_status", args{"run_id": d.RunID, "transcript_after": after})
			page := m["transcript"].(map[string]any)
			seen += len(page["lines"].([]any))
			after = page["next"]
		}
		if seen != len(all) {
			t.Errorf("got %d of %d lines page by page", seen, len(all))
		}
	})
}

func TestATaskThatIsClaimedAgainHasTheAnswerToItsQuestion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ts := newTestServer(t)
	id, coder := ts.task("coder", "Paint the gate"), ts.connect("coder", "/mcp")
	coder.ok("signup_for_task", args{"agent_name": "coder"})
	coder.ok("notify_user", args{"taskId": id, "message": "Blue or green?", "needs_reply": true})
	if _, err := ts.Service.Reply(ctx, maya, id, "Green."); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if _, err := ts.Service.Comment(ctx, task.Actor{Name: "reviewer", Role: task.RoleAgent}, id, "Noise."); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := coder.ok("signup_for_task", args{"agent_name": "coder"})
	tk := taskIn(t, text)
	if n := len(tk.Comments); n != 12 || tk.Comments[0].Content != "Blue or green?" || tk.Comments[1].Content != "Green." {
		t.Errorf("got the comments %+v", tk.Comments)
	}
	if !strings.Contains(text, "older comments are left out") {
		t.Errorf("the answer does not say that comments are left out: %s", text)
	}
}
