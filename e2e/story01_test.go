package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// newModelServer starts a server whose built-in agents use the model server m, with
// one attempt per run. agents are definitions by name: tools, then the system
// prompt. It returns the server and a client of a reviewer.
func newModelServer(t *testing.T, m *modeltest.Server, agents map[string][2]string) (*server, *client.Client) {
	t.Helper()
	s := newServer(t, "serve")
	s.env = append(s.env, "TEST_MODEL_KEY="+providerKey)
	s.file("taskyard.toml", fmt.Sprintf("[runs]\nattempts = 1\n[providers.test]\napi = \"anthropic\"\nbase_url = %q\n"+
		"api_key_env = \"TEST_MODEL_KEY\"\nmodels = [\"test-model\"]\n", m.URL+"/v1"))
	for name, a := range agents {
		s.file("agents/"+name+".md", fmt.Sprintf("---\nname: %s\ndescription: For tests.\ntools: %s\n---\n%s\n", name, a[0], a[1]))
	}
	s.file("agents/puller.md", "---\nname: puller\ndescription: Claims.\ntools: read\nrunner: none\n---\nYou claim.\n")
	s.start()
	return s, s.api(s.token("--scope", "review", "--name", "maya-laptop"))
}

// signedUp is the response to a signup.
type signedUp struct {
	Task *task.Task
	Held []task.ID
}

func signup(t *testing.T, c *client.Client, agent string) signedUp {
	t.Helper()
	return call[signedUp](t, c, "POST", "/api/agents/"+agent+"/signup", map[string]any{})
}

// runsEnded waits until this many runs of a task have ended and none is open.
func (s *server) runsEnded(id task.ID, runs int) {
	s.t.Helper()
	testkit.Eventually(s.t, fmt.Sprintf("%d runs of task %d have ended", runs, id), func() bool {
		return s.rows("SELECT count(*) || ' ' || count(ended_at) FROM runs WHERE task_id = ?", id)[0] == fmt.Sprintf("%d %d", runs, runs)
	})
}

// findPrompt returns the prompt that started the run of a request, and the number of
// messages from it on: a woken run starts with the earlier conversation.
func findPrompt(r modeltest.Request) (prompt string, messages int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; strings.Contains(m.Text, "Text between a line [[") {
			return m.Text, len(r.Messages) - i
		}
	}
	return r.Messages[0].Text, len(r.Messages)
}

// prompts returns the prompts that started the runs of an agent, identified by its
// system prompt.
func prompts(m *modeltest.Server, system string) (list []string) {
	for _, r := range m.Turns() {
		if prompt, n := findPrompt(r); r.System == system && n == 1 {
			list = append(list, prompt)
		}
	}
	return list
}

// TestStory01AnAnswerReachesItsAgent has an agent ask a question and end, and a
// person answer.
func TestStory01AnAnswerReachesItsAgent(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		prompt, n := findPrompt(r)
		switch {
		case strings.Contains(prompt, "Use the green one."):
			return modeltest.Step{Text: "Painted it green."}
		case n > 1:
			return modeltest.Step{Text: "I wait for the answer."}
		}
		return oneCall("notify_user", `{"taskId":%q,"message":"Which color?","needs_reply":true}`, promptTask(r))
	})
	s, person := newModelServer(t, m, map[string][2]string{"painter": {"read", "You paint."}})
	reply := func(id task.ID, text string) {
		t.Helper()
		call[task.Message](t, person, "POST", "/api/tasks/"+id.String()+"/reply", map[string]any{"content": text})
	}

	t.Run("an agent that Taskyard starts gets it in its next run", func(t *testing.T) {
		tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint it", "owner": "painter"})
		s.runsEnded(tk.ID, 1)
		reply(tk.ID, "Use the green one.")
		s.runsEnded(tk.ID, 2)
		got := prompts(m, "You paint.")
		if len(got) != 2 || !strings.Contains(got[1], "reason for this run: answer by user:maya-laptop") ||
			!strings.Contains(got[1], "I wait for the answer.") {
			t.Errorf("got the prompts %q", got)
		}
		if now := call[task.Task](t, person, "GET", "/api/tasks/"+tk.ID.String(), nil); now.Runs[1].Summary != "Painted it green." {
			t.Errorf("got the runs %s", asJSON(now.Runs))
		}
	})

	t.Run("a pulling agent gets its task with the answer by its next signup", func(t *testing.T) {
		puller := s.api(s.token("--agent", "puller"))
		asked := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint the door", "owner": "puller"})
		signup(t, puller, "puller")
		call[task.Message](t, puller, "POST", "/api/tasks/"+asked.ID.String()+"/notify",
			map[string]any{"message": "Which color?", "needsReply": true})
		if got := signup(t, puller, "puller"); got.Task != nil || len(got.Held) > 0 {
			t.Fatalf("got %s while the question is open", asJSON(got))
		}
		call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "More urgent", "owner": "puller", "priority": 9})
		if urgent := signup(t, puller, "puller"); urgent.Task == nil || urgent.Task.Priority != 9 {
			t.Fatalf("before the answer, got %s", asJSON(urgent))
		}
		call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "As urgent", "owner": "puller", "priority": 9})
		reply(asked.ID, "Use the red one.")
		got := signup(t, puller, "puller").Task
		if got == nil || got.ID != asked.ID || got.Comments[len(got.Comments)-1].Content != "Use the red one." {
			t.Errorf("after the answer, got %s", asJSON(got))
		}
	})
}

// TestStory02AParentGetsBothResultsOnce has a parent delegate two tasks and end its
// turn; one is completed, one denied.
func TestStory02AParentGetsBothResultsOnce(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		first, n := findPrompt(r)
		switch {
		case r.System == "You read.":
			return modeltest.Step{Text: "auth.go checks tokens twice."}
		case strings.Contains(first, "earlier runs of this task"):
			return modeltest.Step{Text: "One found that auth.go checks tokens twice; the other was denied: Only read it."}
		case n == 1:
			return oneCall("task", `{"task":"Read auth.go","agent_type":"reader","wait_seconds":0}`)
		case n == 3:
			return oneCall("task", `{"task":"Rewrite auth.go","agent_type":"reader","wait_seconds":0}`)
		}
		return modeltest.Step{Text: "I continue when both have ended."}
	})
	s, person := newModelServer(t, m, map[string][2]string{"boss": {"read, task", "You delegate."}, "reader": {"read", "You read."}})
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Improve auth.go", "owner": "boss"})
	s.runsEnded(tk.ID, 1)
	runs := s.rows("SELECT id FROM runs WHERE agent = 'reader' AND phase = 'approval' ORDER BY id")
	if len(runs) != 2 {
		t.Fatalf("got %d runs that wait for approval", len(runs))
	}
	call[task.Run](t, person, "POST", "/api/runs/"+runs[0]+"/approve", map[string]any{"scope": "once"})
	testkit.Eventually(t, "the first has ended", func() bool {
		return s.rows("SELECT status FROM runs WHERE id = ?", runs[0])[0] == "completed"
	})
	call[task.Run](t, person, "POST", "/api/runs/"+runs[1]+"/deny", map[string]any{"reason": "Only read it."})
	s.runsEnded(tk.ID, 2)
	got := prompts(m, "You delegate.")
	if len(got) != 2 {
		t.Fatalf("got %d runs of the parent", len(got))
	}
	wants(t, got[1], "auth.go checks tokens twice.", "Only read it.", "canceled (denied), by person maya-laptop]]")
}

// TestStory04TheNextRunKnowsWhatFailed has a run fail after three steps.
func TestStory04TheNextRunKnowsWhatFailed(t *testing.T) {
	t.Parallel()
	done := 0
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		prompt, n := findPrompt(r)
		if strings.Contains(prompt, "earlier runs of this task") {
			return modeltest.Step{Text: "Did the last step."}
		}
		if n == 1 {
			return oneCall("update_steps", `{"taskId":%q,"steps":[{"title":"Read"},{"title":"Write"},{"title":"Test"},{"title":"Tell"}]}`, promptTask(r))
		}
		if done++; done <= 3 {
			return oneCall("update_step", `{"taskId":%q,"stepIndex":%d,"done":true}`, promptTask(r), done-1)
		}
		return modeltest.Step{Status: http.StatusUnauthorized, Message: "the key is worn out"}
	})
	s, person := newModelServer(t, m, map[string][2]string{"coder": {"read", "You code."}})
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Four steps", "owner": "coder"})
	s.runsEnded(tk.ID, 1)
	call[task.Run](t, person, "POST", "/api/runs/1/retry", nil)
	s.runsEnded(tk.ID, 2)
	got := prompts(m, "You code.")
	if len(got) != 2 {
		t.Fatalf("got %d runs", len(got))
	}
	wants(t, got[1], "0. [x] Read\n1. [x] Write\n2. [x] Test\n3. [ ] Tell", "run 1 of agent coder, failed (auth)", "the key is worn out")
}

// TestStory03AnApprovalMayComeAfterTheTimeLimit has a parent wait for an approval
// that is given after the parent's time limit, and another whose run ends before
// that.
func TestStory03AnApprovalMayComeAfterTheTimeLimit(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		first, _ := findPrompt(r)
		last := r.Last()
		switch {
		case r.System == "You read.":
			return modeltest.Step{Text: "The answer is 42."}
		case strings.Contains(first, "The answer is 42."):
			return modeltest.Step{Text: "It is 42."}
		case len(last.Results) == 0 && strings.Contains(first, "Do not wait"):
			return oneCall("task", `{"task":"Find it","agent_type":"reader","wait_seconds":0}`)
		case len(last.Results) == 0:
			return oneCall("task", `{"task":"Find it","agent_type":"reader","wait_seconds":50}`)
		case strings.Contains(first, "Do not wait"):
			return modeltest.Step{Wait: hang}
		}
		return modeltest.Step{Text: "It got: " + last.Results[0].Text}
	})
	s, person := newModelServer(t, m, map[string][2]string{
		"boss": {"task, read\ntimeout: 3s", "You delegate."}, "reader": {"read", "You read."},
	})
	t.Cleanup(func() { close(hang) })
	approve := func(t *testing.T, of task.ID) {
		t.Helper()
		run := s.rows("SELECT r.id FROM runs r JOIN tasks t ON t.id = r.task_id WHERE t.parent_id = ? AND r.phase = 'approval'", of)
		if len(run) != 1 {
			t.Fatalf("got %d runs that wait for approval", len(run))
		}
		call[task.Run](t, person, "POST", "/api/runs/"+run[0]+"/approve", map[string]any{"scope": "once"})
	}

	t.Run("while it waits, its timeouts are paused", func(t *testing.T) {
		tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Ask and wait", "owner": "boss"})
		testkit.Eventually(t, "its time limit is over", func() bool {
			before := time.Now().Add(-4 * time.Second).UnixMilli()
			return s.rows("SELECT count(*) FROM runs WHERE task_id = ? AND started_at < ?", tk.ID, before)[0] == "1"
		})
		if got := s.rows("SELECT status || summary || reason FROM runs WHERE task_id = ?", tk.ID); got[0] != "running" {
			t.Fatalf("got the parent as %v", got)
		}
		approve(t, tk.ID)
		s.runsEnded(tk.ID, 1)
		r := call[task.Run](t, person, "GET", "/api/runs/"+s.rows("SELECT id FROM runs WHERE task_id = ?", tk.ID)[0], nil)
		if r.Status != task.RunCompleted || !strings.Contains(r.Summary, "The answer is 42.") || r.WaitedMs < 1000 {
			t.Errorf("got the ended parent %s", asJSON(r))
		}
	})
	t.Run("an approval is valid after the end of its parent, which is resumed", func(t *testing.T) {
		tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Do not wait", "owner": "boss"})
		s.runsEnded(tk.ID, 1)
		if got := s.rows("SELECT status || '/' || phase FROM runs WHERE task_id = ?", tk.ID); got[0] != "failed/timeout" {
			t.Fatalf("got the parent as %v", got)
		}
		approve(t, tk.ID)
		s.runsEnded(tk.ID, 2)
		if got := s.rows("SELECT summary FROM runs WHERE task_id = ? ORDER BY id DESC LIMIT 1", tk.ID); got[0] != "It is 42." {
			t.Errorf("got the summary %q", got)
		}
	})
}
