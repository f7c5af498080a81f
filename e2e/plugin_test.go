package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

const pluginFolder = "plugins/claude-code"

func TestTheSkillOfThePluginIsTheWorkGuide(t *testing.T) {
	t.Parallel()
	guide := read(t, "internal/mcpserver/guide.md")
	file := filepath.Join(pluginFolder, "skills/taskyard/SKILL.md")
	head, body, found := strings.Cut(read(t, file), "\n---\n\n")
	if !found || !strings.HasPrefix(head, "---\nname: taskyard\ndescription: ") || body != guide {
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
		return output(t, cmd)
	}
	here := []string{"TASKYARD_URL=" + s.url(), "TASKYARD_TOKEN=" + token}
	call[any](t, person, "POST", "/api/tasks", map[string]any{"title": "Paint the gate", "owner": "coder"})
	if out := hook("held.sh", here...); out != "" {
		t.Errorf("for an agent without a claim, got %q", out)
	}
	claimed := call[struct{ Task task.Task }](t, s.api(token), "POST", "/api/agents/coder/signup", nil).Task
	if out := hook("held.sh", here...); !strings.Contains(out, "you hold task "+claimed.ID.String()) {
		t.Errorf("at the start of a session, got %q", out)
	}
	if out := hook("heartbeat.sh", here...); out != "" {
		t.Errorf("for a heartbeat, got %q", out)
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
				t.Errorf("%s %s: got %q", name, what, out)
			}
		}
	}
}

// TestTheRegistryEntryWorks starts the program as the entry describes.
func TestTheRegistryEntryWorks(t *testing.T) {
	t.Parallel()
	text := []byte(replaced(read(t, "packaging/server.json"), "${REPOSITORY}", "example/taskyard", "${VERSION}", "0.1.0"))
	var entry struct {
		Name, Description, Version string
		Packages                   []struct {
			Identifier           string
			PackageArguments     []struct{ Value string }
			EnvironmentVariables []struct{ Name string }
		}
	}
	testkit.NoError(t, json.Unmarshal(text, &entry))
	checkRegistryEntry(t, text)
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

// checkRegistryEntry compares an entry with the rules of the MCP registry of
// 2025-12-11 that apply to us: field names, lengths, and what a container image must
// and must not have.
func checkRegistryEntry(t *testing.T, text []byte) {
	t.Helper()
	type argument struct{ Type, Name, Value, ValueHint, Description string }
	var entry struct {
		Schema                            string `json:"$schema"`
		Name, Title, Description, Version string
		Packages                          []struct {
			RegistryType, Identifier, RuntimeHint string
			RuntimeArguments, PackageArguments    []argument
			Transport                             struct{ Type string }
			EnvironmentVariables                  []struct {
				Name, Description, Default string
				IsRequired, IsSecret       bool
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	testkit.NoError(t, d.Decode(&entry))
	matches := func(what, got, pattern string) {
		t.Helper()
		if !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(got) {
			t.Errorf("%s %q does not match %s", what, got, pattern)
		}
	}
	matches("$schema", entry.Schema, `https://static\.modelcontextprotocol\.io/schemas/2025-12-11/server\.schema\.json`)
	matches("name", entry.Name, `[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+`)
	matches("title", entry.Title, `.{1,100}`)
	matches("description", entry.Description, `.{1,100}`)
	matches("version", entry.Version, `\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?`) // not a range
	if len(entry.Name) > 200 || len(entry.Packages) != 1 {
		t.Fatalf("%+v", entry)
	}
	p := entry.Packages[0]
	matches("registryType", p.RegistryType, "oci")
	matches("identifier", p.Identifier, `ghcr\.io/[a-z0-9._/-]+:v`+regexp.QuoteMeta(entry.Version)) // the version of an image is in its tag
	matches("transport", p.Transport.Type, "stdio")
	matches("runtimeHint, which arguments of the runtime need,", p.RuntimeHint, "docker")
	for _, a := range append(p.RuntimeArguments, p.PackageArguments...) {
		matches("type of an argument", a.Type, "named|positional")
		if a.Type == "named" && a.Name == "" || a.Type == "positional" && a.Value == "" && a.ValueHint == "" {
			t.Errorf("%+v: a named argument needs a name, a positional one a value or a hint", a)
		}
	}
	for _, v := range p.EnvironmentVariables {
		matches("variable", v.Name, `[A-Z][A-Z0-9_]*`)
		if strings.HasSuffix(v.Name, "TOKEN") != v.IsSecret {
			t.Errorf("%s: got secret = %v", v.Name, v.IsSecret)
		}
	}
}

// TestRealClaudeWorksThroughThePlugin follows the README as a new user would:
// start, connect Claude Code with the plugin, give it a task. It runs the lines of
// the README, with a scripted model. The log is the transcript.
func TestRealClaudeWorksThroughThePlugin(t *testing.T) {
	t.Parallel()
	program := realProgram(t, "claude", "npm install -g @anthropic-ai/claude-code")
	var definition, commands string
	for _, b := range fencedBlocks(t, "README.md") {
		switch {
		case b.language == "markdown":
			definition = b.text
		case strings.Contains(b.text, "claude plugin install"):
			commands = b.text
		}
	}
	begin := time.Now()
	bin := t.TempDir()
	testkit.NoError(t, os.Symlink(binary(t), filepath.Join(bin, "taskyard")))
	took := func(what string) { t.Logf("%6.1f s  %s", time.Since(begin).Seconds(), what) }
	took("taskyard is in PATH")

	s := newServer(t)
	s.file("agents/coder.md", definition)
	s.start()
	maya := s.signedIn()
	took("taskyard; maya has opened the link and chosen a password")
	status, to := maya.send(s.url()+"/tasks/new", s.url()+"/tasks", map[string]string{"title": "Paint the gate", "owner": "coder"})
	if status != http.StatusSeeOther {
		t.Fatalf("for the form of a new task, got status %d", status)
	}
	took("a task for coder: " + to)

	const tools = "mcp__plugin_taskyard_taskyard__"
	m := modeltest.WithTools(t,
		modeltest.Step{Calls: []modeltest.Call{{Name: tools + "signup_for_task", Args: `{"agent_name":"coder"}`}}},
		modeltest.Step{Calls: []modeltest.Call{{Name: tools + "complete_task", Args: `{"taskId":"1","summary":"The gate is green."}`}}},
		modeltest.Step{Text: "Task 1 is done."},
	)
	repository, err := filepath.Abs(".")
	testkit.NoError(t, err)
	commands = replaced(commands, "marketplace add ./", "marketplace add "+repository, // Claude Code runs in another folder
		`claude "`, `claude -p --allowedTools mcp__plugin_taskyard_taskyard --model test-model "`)
	testkit.NoError(t, os.Symlink(program, filepath.Join(bin, "claude")))
	home, env := t.TempDir(), ""
	for line := range strings.Lines(commands) {
		sh := exec.CommandContext(t.Context(), "sh", "-ec", env+line)
		sh.Dir = home
		sh.Env = []string{
			"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=test",
			"TASKYARD_URL=" + s.url(), "TASKYARD_DATA=" + s.data, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
		out := output(t, sh)
		if strings.HasPrefix(line, "export ") {
			env += line
		}
		took("$ " + line + out)
	}
	if _, page := maya.get(s.url() + "/history"); !strings.Contains(page, "The gate is green.") {
		t.Error("the history does not show the summary")
	}
	took("the history shows it")
	done := call[task.Task](t, s.api(s.token("--scope", "operate")), "GET", "/api/tasks/1", nil)
	if done.Status != task.Done || done.Summary != "The gate is green." {
		t.Errorf("got the task %s (%q)", done.Status, done.Summary)
	}
}
