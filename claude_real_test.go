package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/model/modeltest"
)

// newClaudeYard is a server whose agent coder is the real Claude Code.
func newClaudeYard(t *testing.T, o realSetup, steps ...modeltest.Step) *realYard {
	t.Helper()
	program := realProgram(t, "claude", "npm install -g @anthropic-ai/claude-code")
	m := modeltest.WithTools(t, steps...)
	o.runner = fmt.Sprintf("kind = \"claude\"\ncommand = [%q]\n%s[runners.real.env]\nANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-ant-of-the-test\"\n", program, o.runner, m.URL)
	if !strings.Contains(o.definition, "tools:") {
		o.definition += "tools: read, bash, create, edit\n"
	}
	return newRealYard(t, m, o)
}

func bashing(command string) modeltest.Step {
	return doing("Bash", map[string]any{"command": command, "description": "A step of the test"})
}

func TestRealClaudeWorksOnATask(t *testing.T) {
	t.Parallel()
	y := newClaudeYard(t, realSetup{},
		bashing("echo 'from the agent' > notes.txt; cat notes.txt; env | sort"),
		doing("mcp__taskyard__complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."}),
		saying("I wrote notes.txt."))
	id := y.begin()
	y.want(y.ended(id), "completed|ended||I wrote notes.txt.")
	y.wrote("notes.txt", "from the agent\n")
	if got := y.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("task %q", got)
	}
	if got := y.rows("SELECT usage FROM runs")[0]; !strings.Contains(got, `"toolCalls":2,"tokensIn":300,"tokensOut":21`) {
		t.Errorf("usage %s", got)
	}
	told := y.told()
	y.want(told, "", "tool_call|Bash: echo", "tool_call|mcp__taskyard__complete_task", "from the agent", "text|I wrote notes.txt.")
	t.Run("its commands see no key and no token", func(t *testing.T) {
		for _, secret := range []string{"sk-ant-of-the-test", "ANTHROPIC_API_KEY=", "TASKYARD_TOKEN="} {
			if strings.Contains(strings.Join(y.results(), "\n"), secret) {
				t.Errorf("they see %s", secret)
			}
		}
		if !strings.Contains(told, "TASKYARD_AGENT=coder") {
			t.Error("the command saw nothing")
		}
	})
	if t.Failed() {
		t.Log(told)
	}
	y.wantNobody("after the run", nil)
}

// outsideFile is a file outside the workspace.
func outsideFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(file, []byte("of somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
