package e2e

import (
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestStory05AHandOverIncludesTheFindings has a pulling agent hand over its task to
// one that Taskyard starts.
func TestStory05AHandOverIncludesTheFindings(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		first, n := findPrompt(r)
		if n > 1 || !strings.Contains(first, "The leak is in cache.go.") || !strings.Contains(first, ", by agent puller]]") {
			return modeltest.Step{Text: "Fixed it."}
		}
		return oneCall("add_comment", `{"taskId":%q,"content":"puller found: The leak is in cache.go."}`, promptTask(r))
	})
	s, person := newModelServer(t, m, map[string][2]string{"fixer": {"read", "You fix."}})
	puller := s.api(s.token("--agent", "puller"))
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Find the leak", "owner": "puller"})
	mine := signup(t, puller, "puller").Task
	call[any](t, puller, "POST", "/api/tasks/"+tk.ID.String()+"/move", map[string]any{
		"currentAgent": "puller", "newAgent": "fixer", "comment": "The leak is in cache.go.", "claim": mine.Claim.ID,
	})
	testkit.Eventually(t, "the new owner quotes the findings", func() bool {
		return len(s.rows("SELECT 1 FROM messages WHERE task_id = ? AND author = 'fixer' AND content = 'puller found: The leak is in cache.go.'",
			tk.ID)) == 1
	})
	for _, act := range []string{"complete", "heartbeat", "release"} {
		err := puller.Do(t.Context(), "POST", "/api/tasks/"+tk.ID.String()+"/"+act, map[string]any{"claim": mine.Claim.ID}, nil)
		if err == nil || !strings.Contains(err.Error(), "409 stale_claim") && !strings.Contains(err.Error(), "403") {
			t.Errorf("%s by the former owner: got %v", act, err)
		}
	}
}

// TestStory06ARestartedAgentFindsItsWork restarts an agent's process in the middle of
// a task, with MCP, HTTP and the command line.
func TestStory06ARestartedAgentFindsItsWork(t *testing.T) {
	t.Parallel()
	s, person := newModelServer(t, modeltest.New(t), nil)
	token := s.token("--agent", "puller")
	puller := s.api(token)
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{
		"title": "Survive", "owner": "puller", "steps": []map[string]any{{"title": "a"}, {"title": "b"}},
	})
	signup(t, puller, "puller")
	call[task.Task](t, puller, "PATCH", "/api/tasks/"+tk.ID.String()+"/steps/0", map[string]any{"done": true})

	again := signup(t, s.api(token), "puller")
	if again.Task != nil || len(again.Held) != 1 || again.Held[0] != tk.ID {
		t.Fatalf("the next process got %s", asJSON(again))
	}
	(&shell{t, map[string]string{"TASKYARD_URL": s.url(), "TASKYARD_TOKEN": token}}).fails(client.ExitNothing,
		"it holds #"+tk.ID.String(), "task", "claim")
	now := call[task.Task](t, puller, "GET", "/api/tasks/"+tk.ID.String(), nil)
	if !now.Steps[0].Done || now.Steps[1].Done || now.Claim == nil {
		t.Fatalf("got the task %s", asJSON(now))
	}
	done := call[task.Task](t, puller, "POST", "/api/tasks/"+tk.ID.String()+"/complete",
		map[string]any{"claim": now.Claim.ID, "summary": "Both."})
	if done.Status != task.Done {
		t.Errorf("got the task as %s", done.Status)
	}
}

// TestStory08ACommentReachesTheNextRunOnce has a person comment during a run.
func TestStory08ACommentReachesTheNextRunOnce(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		if prompt, _ := findPrompt(r); !strings.Contains(prompt, "earlier runs of this task") {
			return modeltest.Step{Text: "Did the first part.", Wait: hang}
		}
		return modeltest.Step{Text: "Did the rest."}
	})
	s, person := newModelServer(t, m, map[string][2]string{"coder": {"read", "You code."}})
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Two parts", "owner": "coder"})
	testkit.Eventually(t, "the run works", func() bool { return len(m.Turns()) == 1 })
	call[task.Message](t, person, "POST", "/api/tasks/"+tk.ID.String()+"/comments", map[string]any{"content": "Use the cheap paint."})
	close(hang)
	s.runsEnded(tk.ID, 2)
	got := prompts(m, "You code.")
	const comment = "Use the cheap paint."
	if len(got) != 2 || strings.Count(strings.Join(got, ""), comment) != 1 || !strings.Contains(got[1], comment) ||
		!strings.Contains(got[1], "reason for this run: comment by user:maya-laptop") {
		t.Errorf("got the prompts %q", got)
	}
	testkit.Eventually(t, "nothing follows", func() bool {
		return s.rows("SELECT run_id IS NULL FROM tasks WHERE id = ?", tk.ID)[0] == "1"
	})
}
