package e2e

import (
	"os"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
)

func TestRealACPAgentsWorkOnATask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agent realAgent
		shell string // its tool for commands
		usage string // as reported
	}{
		{realOpencode, "bash", `"tokensIn":0,"tokensOut":0`}, // it reports only the usage of its last turn
		{realGemini, "run_shell_command", `"tokensIn":300,"tokensOut":21`},
		{realQwen, "run_shell_command", `"tokensIn":300,"tokensOut":21`},
	} {
		t.Run(tt.agent.name, func(t *testing.T) {
			t.Parallel()
			outside := outsideFile(t)
			command := "echo 'from the agent' > notes.txt; echo bad > " + outside
			shell := map[string]any{"command": command, "description": "Write notes"}
			if tt.agent.name == realQwen.name {
				shell["is_background"] = false // Qwen Code requires it
			}
			steps := []modeltest.Step{
				callStep(tt.shell, shell),
				tt.agent.calls("complete_task", map[string]any{"taskId": "1", "summary": "Notes are written."}),
				textStep("I wrote notes.txt."),
			}
			model := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
				if !offersTaskyard(r) || len(steps) == 0 {
					return textStep("ok")
				}
				next := steps[0]
				steps = steps[1:]
				return next
			})
			srv := tt.agent.server(t, model, realSetup{definition: "tools: read, bash, create, edit\n"})
			id := srv.begin()
			srv.want(srv.ended(id), "completed|ended||") // with the summary of the task if it takes long to end
			srv.wantFile("notes.txt", "from the agent\n")
			if got := srv.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
				t.Errorf("got task %q", got)
			}
			if got := srv.rows("SELECT usage FROM runs")[0]; !strings.Contains(got, tt.usage) {
				t.Errorf("got usage %s", got)
			}
			calls := srv.rows("SELECT content FROM messages WHERE type = 'tool_call' ORDER BY id")
			if len(calls) != 2 || !strings.HasPrefix(calls[0], command) || !strings.Contains(calls[1], "complete_task") {
				t.Errorf("got the calls %q", calls)
			}
			if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
				t.Errorf("the file outside contains %q, %v", b, err)
			}
			if t.Failed() {
				t.Log(srv.transcript(), strings.Join(srv.results(), "\n"))
			}
			testkit.Eventually(t, "every process has ended", func() bool { return len(srv.processes(nil)) == 0 })
		})
	}
}

func TestRealGeminiInAnUntrustedFolderReportsThatItHadNoTools(t *testing.T) {
	t.Parallel()
	a := realGemini
	a.env = func(t *testing.T, model string) string {
		t.Helper()
		return strings.Replace(realGemini.env(t, model), "GEMINI_CLI_TRUST_WORKSPACE", "OTHER", 1)
	}
	srv := a.server(t, modeltest.WithTools(t, textStep("I have no tools.")), realSetup{definition: "tools: read\n"})
	srv.want(srv.execute(), "completed|ended||I have no tools.")
	srv.want(srv.transcript(), "", "its program never reached Taskyard's MCP server")
}
