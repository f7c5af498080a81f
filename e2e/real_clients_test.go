package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// realClient is a real program as a client that claims its work itself, set up
// and started as docs/agents.md describes.
type realClient struct {
	agent   realAgent
	setup   string                      // a command in the docs, by a part of it
	config  [2]string                   // a block in the docs, by a part of it, and the file in HOME for it
	model   string                      // an additional line, if the program needs one for the scripted model
	command string                      // how it is started, by a part of the line in the docs
	more    func(model string) []string // arguments that name the scripted model
	env     func(model string) []string // variables with the address of its model
}

var realClients = []realClient{
	{
		agent: realClaude, setup: "claude mcp add", command: "claude -p",
		more: func(string) []string { return []string{"--model", "test-model"} },
		env: func(model string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=test",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
			}
		},
	},
	{
		agent: realCodex, setup: "codex mcp add", command: "codex exec",
		more: func(model string) []string {
			return []string{
				"-m", "test-model", "-c", `model_provider="x"`, "-c", fmt.Sprintf(
					`model_providers.x={name="x",base_url="%s/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`, model),
			}
		},
		env: func(string) []string { return []string{"OPENAI_API_KEY=test"} },
	},
	{
		agent: realGemini, config: [2]string{`"httpUrl": "http://127.0.0.1:8080/mcp",`, ".gemini/settings.json"}, command: "gemini -p",
		model: `"security": {"auth": {"selectedType": "gemini-api-key"}},`, // otherwise it accepts a key only for its own address
		more:  func(string) []string { return []string{"-m", "gemini-2.5-pro"} },
		env: func(model string) []string {
			return []string{
				"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=" + model, "GEMINI_PTY_INFO=child_process",
			}
		},
	},
	{
		agent: realOpencode, config: [2]string{`"type": "remote"`, ".config/opencode/opencode.json"}, command: "opencode run",
		more: func(string) []string { return []string{"-m", "scripted/test-model"} },
		env: func(model string) []string {
			conf, _, _ := strings.Cut(strings.TrimPrefix(realOpencode.env(nil, model), "OPENCODE_CONFIG_CONTENT = '"), "'\n")
			return []string{"OPENCODE_CONFIG_CONTENT=" + conf, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
	},
	{
		agent: realQwen, config: [2]string{"alwaysLoadTools", ".qwen/settings.json"}, command: "qwen -p",
		more: func(string) []string { return []string{"--auth-type", "openai"} },
		env: func(model string) []string {
			return []string{"OPENAI_API_KEY=test", "OPENAI_BASE_URL=" + model + "/v1", "OPENAI_MODEL=test-model"}
		},
	},
}

// TestStory23ARealClientOfTheDocsWorks is TestStory23AClientOfTheDocsWorks with
// real programs, started as their users would without a person at the terminal:
// they claim, plan, ask, get the answer, hand over and complete.
func TestStory23ARealClientOfTheDocsWorks(t *testing.T) {
	t.Parallel()
	for _, c := range realClients {
		t.Run(c.agent.name, func(t *testing.T) {
			t.Parallel()
			realAtOnce <- struct{}{}
			t.Cleanup(func() { <-realAtOnce })
			program := realProgram(t, c.agent.name, c.agent.install)
			agent := c.agent.name
			steps := []modeltest.Step{
				c.agent.calls("signup_for_task", map[string]any{"agent_name": agent}),
				c.agent.calls("update_steps", map[string]any{
					"taskId": "1", "steps": []any{map[string]any{"title": "Look"}, map[string]any{"title": "Do"}},
				}),
				c.agent.calls("notify_user", map[string]any{"taskId": "1", "message": "Red or blue?", "needs_reply": true}),
				c.agent.calls("signup_for_task", map[string]any{"agent_name": agent, "wait_seconds": 50}),
				c.agent.calls("move_task", map[string]any{
					"task_id": "1", "current_agent": agent, "new_agent": "reviewer", "comment": "It is blue.",
				}),
				c.agent.calls("signup_for_task", map[string]any{"agent_name": agent}),
				c.agent.calls("complete_task", map[string]any{"taskId": "2", "summary": "It is done."}),
				textStep("I worked on both."),
			}
			var results []string
			m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				if !offersTaskyard(r) {
					return textStep("ok")
				}
				results = results[:0]
				for _, m := range r.Messages {
					for _, result := range m.Results {
						results = append(results, result.Text)
					}
				}
				return steps[min(len(results), len(steps)-1)]
			})
			pulls := [2]string{"read\nrunner: none", "You follow the docs."}
			s, person := newModelServer(t, m, map[string][2]string{"reviewer": pulls, agent: pulls})
			home, folder := t.TempDir(), t.TempDir()
			run := func(line string) string {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "bash", "-c", line)
				cmd.Dir = folder
				cmd.Env = append([]string{
					"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8",
					"TASKYARD_URL=" + s.url(), "TASKYARD_TOKEN=" + s.token("--agent", agent),
				}, c.env(m.URL)...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
				return string(out)
			}
			if c.setup != "" {
				run(lineWith(t, c.setup))
			} else {
				file := filepath.Join(home, c.config[1])
				text := strings.ReplaceAll(blockWith(t, "docs/agents.md", c.config[0]), "http://127.0.0.1:8080", s.url())
				text = strings.Replace(text, "{\n", "{\n"+c.model+"\n", 1)
				testkit.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				put(t, file, text)
			}
			for _, title := range []string{"Ask and hand over", "Complete"} {
				call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": title, "owner": agent})
			}
			said := make(chan string)
			go func() { said <- run(lineWith(t, c.command) + quoted(c.more(m.URL))) }()
			testkit.EventuallyWithin(t, 3*time.Minute, "the client asks", func() bool {
				select {
				case out := <-said:
					t.Fatalf("it ended before that: %s", out)
				default:
				}
				return call[task.Task](t, person, "GET", "/api/tasks/1", nil).WaitingFor == "user"
			})
			call[any](t, person, "POST", "/api/tasks/1/reply", map[string]any{"content": "Blue it is."})
			out := <-said
			moved := call[task.Task](t, person, "GET", "/api/tasks/1", nil)
			done := call[task.Task](t, person, "GET", "/api/tasks/2", nil)
			if moved.Owner != "reviewer" || len(moved.Steps) != 2 || done.Status != task.Done || done.Summary != "It is done." {
				t.Errorf("got the tasks %s and %s\noutput %s\nits model got %q", asJSON(moved), asJSON(done), out, results)
			}
			if len(results) < 4 || !strings.Contains(results[3], "Blue it is.") {
				t.Errorf("its model got %q", results)
			}
		})
	}
}

// lineWith returns the line of a block in docs/agents.md that begins with text.
func lineWith(t *testing.T, text string) string {
	t.Helper()
	for line := range strings.Lines(blockWith(t, "docs/agents.md", text)) {
		if strings.HasPrefix(line, text) {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("docs/agents.md has no line %q", text)
	return ""
}

// quoted returns further arguments of a shell command.
func quoted(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(" '" + a + "'")
	}
	return b.String()
}
