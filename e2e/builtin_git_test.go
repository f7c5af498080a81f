package e2e

import (
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/builtin/tools"
	"taskyard/task"
)

// bashRun has the built-in agent run commands in a worktree of a repository, one
// after another, and returns the output of each.
func bashRun(t *testing.T, s *server, person *client.Client, commands []string) []string {
	t.Helper()
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{
		"title": "Look", "owner": "coder", "project": "web", "description": strings.Join(commands, "\n"),
	})
	r := waitForRun(t, s, person, tk.ID)
	if r.Status != task.RunCompleted {
		t.Fatalf("got the run %s", asJSON(r))
	}
	return s.rows("SELECT content FROM messages WHERE run_id = ? AND type = 'tool_result' ORDER BY id", r.ID)
}

// Git in a worktree shows an agent the history and its changes. It writes nothing,
// and a repository whose configuration contains a password is not readable.
func TestBashOfTheBuiltinAgentCanReadItsRepository(t *testing.T) {
	t.Parallel()
	if tools.Level(tools.Options{}) == "off" {
		t.Skip("bash cannot be confined here")
	}
	commands := []string{
		"git log --format=%s", "echo more >>README.md; git diff --stat; git status --short",
		"git -c user.name=A -c user.email=a@example.org commit -qam Mine",
	}
	turn := 0
	m := modeltest.NewFunc(t, func(modeltest.Request) modeltest.Step {
		if turn++; turn%(len(commands)+1) == 0 {
			return modeltest.Step{Text: "Looked.", Usage: modeltest.Usage{In: 10, Out: 1}}
		}
		return oneCall("bash", `{"command":%q}`, commands[turn%(len(commands)+1)-1])
	})
	s, _ := newBuiltinServer(t, "openai", m)
	person := s.api(s.token("--scope", "admin"))
	const definition = "---\nname: coder\ndescription: For tests.\ntools: read, create, bash\n---\nYou are terse.\n"
	call[task.Agent](t, person, "PUT", "/api/agents/coder", map[string]any{"text": definition})
	repo := newRepo(t)
	call[task.Project](t, person, "POST", "/api/projects", projectBody(repo))

	got := bashRun(t, s, person, commands)
	if len(got) != 3 || strings.TrimSpace(got[0]) != "first" {
		t.Fatalf("got the output %q", got)
	}
	if !strings.Contains(got[1], "README.md | 1 +") || !strings.Contains(got[1], " M README.md") {
		t.Errorf("got diff and status %q", got[1])
	}
	if !strings.Contains(got[2], "index.lock': Permission denied") {
		t.Errorf("for a commit, got %q", got[2])
	}
	testkit.Git(t, repo, "remote", "add", "origin", "https://ci:secret@git.example.org/web.git")
	for _, said := range bashRun(t, s, person, commands) {
		if !strings.Contains(said, "not a git repository") {
			t.Errorf("with a password in its configuration, got %q", said)
		}
	}
}
