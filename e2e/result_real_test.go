package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

const (
	wrongGreeting = "helo\n"
	rightGreeting = "hello\n"
	finalGreeting = "Hello\n"
	reviewerSays  = "Begin it with a capital."
)

// greetingWriter is an agent with a scripted model.
type greetingWriter struct {
	calls func(tool string, args map[string]any) modeltest.Step // a tool of Taskyard
	// The steps that write greeting.txt in its working folder, with its own tools.
	write  []modeltest.Step                            // wrongGreeting
	change func(before, after string) []modeltest.Step // starts by reading the file
}

// reviewNote matches the comment in the prompt of a run.
var reviewNote = regexp.MustCompile(`review comment (\d+) on greeting\.txt:1\b`)

// model scripts what the agent decides: a wrong file, which the check refuses, a
// right one, and what the reviewer asked for. It gets a refusal within the same
// conversation, and the comment in the prompt of the next run.
func (g greetingWriter) model(t *testing.T) *modeltest.Server {
	t.Helper()
	complete := g.calls("complete_task", map[string]any{"taskId": "1", "summary": "The greeting is written."})
	first := append(append([]modeltest.Step{}, g.write...), complete)
	refused := len(first)
	first = append(append(first, g.change(wrongGreeting, rightGreeting)...), complete)
	return modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		if len(r.Tools) == 0 {
			return textStep("ok") // a side request of the program
		}
		var results []string
		steps := first
		for _, m := range r.Messages {
			if m.Role == "user" && strings.Contains(m.Text, reviewerSays) {
				note := reviewNote.FindStringSubmatch(m.Text)
				if note == nil || !strings.Contains(m.Text, "> hello") {
					t.Errorf("the prompt has the comment without its position or excerpt:\n%s", m.Text)
					return textStep("Where?")
				}
				results = nil
				reply := g.calls("reply_review", map[string]any{"taskId": "1", "comment": note[1], "state": "fixed", "text": "It does now."})
				steps = append(append([]modeltest.Step{reply}, g.change(rightGreeting, finalGreeting)...), complete)
			}
			for _, result := range m.Results {
				results = append(results, result.Text)
			}
		}
		if n := len(results); n == refused && len(steps) == len(first) {
			refusal := strings.ReplaceAll(results[n-1], `\n`, "\n") // Codex passes on the JSON
			wants(t, refusal, "checks_failed: task 1 is not completed: the required check test failed (exit code 3)",
				"4999\n5000\nno greeting in helo")
		}
		if len(results) >= len(steps) {
			return textStep("It is handed in.")
		}
		return steps[len(results)]
	})
}

// greets goes from a task to a merged change with the agent coder of a server.
func greets(t *testing.T, s *server, m *modeltest.Server) {
	t.Helper()
	srv := &projectServer{server: s, repo: newRepo(t)}
	srv.person = srv.api(srv.firstAdmin())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(srv.rows("SELECT id, status, phase, reason, summary, folder FROM runs"), "\n"))
			t.Log(strings.Join(srv.rows("SELECT run_id, type, content, coalesce(data, '') FROM messages ORDER BY id"), "\n"))
		}
	})
	project := projectBody(srv.repo)
	project["checks"] = []any{map[string]any{
		"name": "test", "required": true,
		"run": "grep -qi hello greeting.txt || { seq 5000; echo no greeting in $(cat greeting.txt); exit 3; }",
	}}
	call[task.Project](t, srv.person, "POST", "/api/projects", project)
	tk := call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Write a greeting", "owner": "coder", "project": "web"})
	path := "/api/tasks/" + tk.ID.String()

	srv.awaits(tk.ID, "in review", inReview(1))
	checks := call[struct{ Checks []task.CheckRun }](t, srv.person, "GET", path+"/checks", nil).Checks
	if len(checks) != 2 || checks[1].Verdict != task.CheckFailed || checks[1].ExitCode != 3 || checks[0].Verdict != task.CheckPassed {
		t.Fatalf("got the checks %s", asJSON(checks))
	}
	if got := srv.rows("SELECT count(*) FROM runs")[0]; got != "1" {
		t.Errorf("got %s runs before the first result", got)
	}
	first := call[task.Result](t, srv.person, "GET", path+"/results/1", nil)
	call[task.ReviewComment](t, srv.person, "POST", path+"/review-comments",
		map[string]any{"path": "greeting.txt", "line": 1, "excerpt": "hello", "text": reviewerSays})
	call[task.Task](t, srv.person, "POST", path+"/results/1/request-changes", map[string]any{"digest": first.Digest, "text": "Nearly."})

	srv.awaits(tk.ID, "in review again", inReview(2))
	comments := call[struct{ Comments []task.ReviewComment }](t, srv.person, "GET", path+"/review-comments", nil).Comments
	if len(comments) != 1 || comments[0].State != task.CommentFixed || len(comments[0].Replies) != 1 ||
		comments[0].Replies[0].Text != "It does now." {
		t.Errorf("got the comments %s", asJSON(comments))
	}
	srv.runsEnded(tk.ID, 2)
	second := call[task.Result](t, srv.person, "GET", path+"/results/2", nil)
	call[task.Task](t, srv.person, "POST", path+"/results/2/accept", map[string]any{"digest": second.Digest})
	srv.awaits(tk.ID, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	if got := testkit.Git(t, srv.repo, "show", "main:greeting.txt"); got+"\n" != finalGreeting {
		t.Errorf("main contains %q", got)
	}
	if got := testkit.Git(t, srv.repo, "log", "--format=%an %s", "main"); got != "coder Write a greeting\nMaya first" {
		t.Errorf("got the log of main\n%s", got)
	}
	if got := testkit.Git(t, srv.repo, "ls-tree", "-r", "--name-only", "main"); got != "README.md\ngreeting.txt" {
		t.Errorf("got the files of main\n%s", got)
	}
	for _, got := range srv.rows("SELECT status || '|' || phase FROM runs") {
		if got != "completed|ended" {
			t.Errorf("got the run %s", got)
		}
	}
}

func TestRealClaudeGoesFromATaskToAMergedChange(t *testing.T) {
	t.Parallel()
	g := greetingWriter{
		calls: realClaude.calls,
		write: []modeltest.Step{callStep("Write", map[string]any{"file_path": "greeting.txt", "content": wrongGreeting})},
		change: func(before, after string) []modeltest.Step {
			edit := map[string]any{
				"file_path": "greeting.txt", "old_string": strings.TrimSpace(before), "new_string": strings.TrimSpace(after),
			}
			return []modeltest.Step{callStep("Read", map[string]any{"file_path": "greeting.txt"}), callStep("Edit", edit)}
		},
	}
	m := g.model(t)
	srv := realClaude.server(t, m, realSetup{
		definition: "tools: read, bash, create, edit\n", conf: "[checks]\naccept_weaker = true\n", private: true,
	})
	greets(t, srv.server, m)
}

func TestRealCodexGoesFromATaskToAMergedChange(t *testing.T) {
	t.Parallel()
	g := greetingWriter{
		calls: realCodex.calls,
		write: []modeltest.Step{execStep("printf '" + strings.TrimSpace(wrongGreeting) + `\n' > greeting.txt`)},
		change: func(before, after string) []modeltest.Step {
			return []modeltest.Step{execStep(fmt.Sprintf("sed -i s/%s/%s/ greeting.txt", strings.TrimSpace(before), strings.TrimSpace(after)))}
		},
	}
	m := g.model(t)
	srv := realCodex.server(t, m, realSetup{
		definition: "tools: read, bash, create, edit\n", conf: "[checks]\naccept_weaker = true\n", private: true,
	})
	greets(t, srv.server, m)
}

func TestTheBuiltinAgentGoesFromATaskToAMergedChange(t *testing.T) {
	t.Parallel()
	g := greetingWriter{
		calls: callStep,
		write: []modeltest.Step{callStep("create", map[string]any{"path": "greeting.txt", "content": wrongGreeting})},
		change: func(before, after string) []modeltest.Step {
			edit := map[string]any{"path": "greeting.txt", "old_text": before, "new_text": after}
			return []modeltest.Step{callStep("read", map[string]any{"path": "greeting.txt"}), callStep("edit", edit)}
		},
	}
	m := g.model(t)
	s := newServer(t, "serve")
	s.env = append(s.env, "TEST_MODEL_KEY="+providerKey)
	s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[checks]\naccept_weaker = true\n[providers.test]\napi = \"anthropic\"\n"+
		"base_url = %q\napi_key_env = \"TEST_MODEL_KEY\"\nmodels = [\"test-model\"]\n", m.URL+"/v1"))
	s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, create, edit\n---\nWork.\n")
	s.start()
	greets(t, s, m)
}
