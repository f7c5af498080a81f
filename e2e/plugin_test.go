package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

const pluginFolder = "plugins/claude-code"

func TestTheSkillOfThePluginIsTheWorkGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("internal/mcpserver/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(pluginFolder, "skills/taskyard/SKILL.md")
	skill, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, body, found := bytes.Cut(skill, []byte("\n---\n\n"))
	if !found || !bytes.HasPrefix(head, []byte("---\nname: taskyard\ndescription: ")) || !bytes.Equal(body, guide) {
		t.Errorf("%s is not a front matter and internal/mcpserver/guide.md: copy the guide into it", file)
	}
}

func TestTheHooksOfThePlugin(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.file("agents/coder.md", "---\nname: coder\ndescription: Claims its work itself.\ntools: read\nrunner: none\n---\nWork.\n")
	s.start()
	token, person := s.token("--agent", "coder"), s.api(s.token("--scope", "operate"))
	home := t.TempDir()
	hook := func(name string, env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(pluginFolder, "hooks", name))
		cmd.Env = append([]string{"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + home}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	here := []string{"TASKYARD_URL=" + s.url(), "TASKYARD_TOKEN=" + token}
	call[any](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint the gate", "owner": "coder"})
	if out := hook("held.sh", here...); out != "" {
		t.Errorf("an agent that holds nothing is told %q", out)
	}
	claimed := call[struct{ Task task.Task }](t, s.api(token), "POST", "/api/agents/coder/signup", nil).Task
	if out := hook("held.sh", here...); !strings.Contains(out, "you hold task "+claimed.ID.String()) {
		t.Errorf("the start of a session says %q", out)
	}
	if out := hook("heartbeat.sh", here...); out != "" {
		t.Errorf("a heartbeat says %q", out)
	}
	after := call[task.Task](t, person, "GET", "/api/tasks/"+claimed.ID.String(), nil)
	if after.Claim == nil || after.Claim.ExpiresAt <= claimed.Claim.ExpiresAt {
		t.Errorf("the claim was not renewed: %+v, then %+v", claimed.Claim, after.Claim)
	}
	for _, name := range []string{"held.sh", "heartbeat.sh"} {
		for what, env := range map[string][]string{
			"without a token": nil, "without a server": {"TASKYARD_URL=http://127.0.0.1:1", "TASKYARD_TOKEN=" + token, "HOME=" + t.TempDir()},
		} {
			if out := hook(name, env...); out != "" {
				t.Errorf("%s %s says %q", name, what, out)
			}
		}
	}
}

// TestTheEntryForTheRegistry starts the program as the entry says.
func TestTheEntryForTheRegistry(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("packaging/server.json")
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(replaced(string(text), "${REPOSITORY}", "example/taskyard", "${VERSION}", "0.1.0"))
	var entry struct {
		Name, Description, Version string
		Packages                   []struct {
			Identifier           string
			PackageArguments     []struct{ Value string }
			EnvironmentVariables []struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		t.Fatal(err)
	}
	p := entry.Packages[0]
	if entry.Name != "io.github.example/taskyard" || len(entry.Description) > 100 || p.Identifier != "ghcr.io/example/taskyard:v0.1.0" {
		t.Errorf("%+v", entry)
	}
	s := newServer(t, "serve")
	s.start()
	cmd := exec.CommandContext(t.Context(), binary(t))
	for _, a := range p.PackageArguments {
		cmd.Args = append(cmd.Args, a.Value)
	}
	values := map[string]string{"TASKYARD_URL": s.url(), "TASKYARD_TOKEN": s.token("--agent", "general-purpose")}
	cmd.Env = []string{"HOME=" + t.TempDir()}
	for _, v := range p.EnvironmentVariables {
		cmd.Env = append(cmd.Env, v.Name+"="+values[v.Name])
	}
	cmd.Stdin = strings.NewReader(hello)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"serverInfo"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRealClaudeWorksThroughThePlugin installs the plugin as its README says,
// and has Claude Code claim and complete a task, with a scripted model.
func TestRealClaudeWorksThroughThePlugin(t *testing.T) {
	t.Parallel()
	program := realProgram(t, "claude", "npm install -g @anthropic-ai/claude-code")
	s := newServer(t, "serve")
	s.file("agents/coder.md", "---\nname: coder\ndescription: Claims its work itself.\ntools: read\nrunner: none\n---\nWork.\n")
	s.start()
	person := s.api(s.token("--scope", "operate"))
	made := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint the gate", "owner": "coder"})
	const tools = "mcp__plugin_taskyard_taskyard__"
	m := modeltest.WithTools(t,
		modeltest.Step{Calls: []modeltest.Call{{Name: tools + "signup_for_task", Args: `{"agent_name":"coder"}`}}},
		modeltest.Step{Calls: []modeltest.Call{{
			Name: tools + "complete_task", Args: fmt.Sprintf(`{"taskId":%q,"summary":"The gate is green."}`, made.ID),
		}}},
		modeltest.Step{Text: "Done."},
	)
	repository, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	home, token := t.TempDir(), s.token("--agent", "coder")
	claude := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{
			"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + home,
			"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=test",
			"TASKYARD_URL=" + s.url(), "TASKYARD_TOKEN=" + token,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("claude %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	claude("plugin", "marketplace", "add", repository)
	claude("plugin", "install", "taskyard@taskyard")
	out := claude("-p", "Claim your next Taskyard task and work on it.",
		"--model", "test-model", "--allowedTools", "mcp__plugin_taskyard_taskyard")
	done := call[task.Task](t, person, "GET", "/api/tasks/"+made.ID.String(), nil)
	if done.Status != task.Done || done.Summary != "The gate is green." {
		t.Errorf("the task is %s (%q); claude said %s", done.Status, done.Summary, out)
	}
}
