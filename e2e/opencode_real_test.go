package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"taskyard/runner/model/modeltest"
)

// newOpencodeServer is a server whose agent coder is the real opencode, as an
// agent of the ACP.
func newOpencodeServer(t *testing.T, o realSetup, steps ...modeltest.Step) *realServer {
	t.Helper()
	program := realProgram(t, "opencode", "npm install -g opencode-ai")
	m := modeltest.WithTools(t, steps...)
	conf := fmt.Sprintf(`{"model":"scripted/test-model","small_model":"scripted/test-model","provider":{"scripted":{"npm":"@ai-sdk/openai-compatible","name":"Scripted","options":{"baseURL":"%s/v1","apiKey":"sk-of-the-test"},"models":{"test-model":{"name":"Test"}}}}}`, m.URL)
	o.runner = fmt.Sprintf("kind = \"acp\"\ncommand = [%q, \"acp\"]\naccept_weaker = true\n%s[runners.real.env]\nOPENCODE_CONFIG_CONTENT "+
		"= '%s'\nOPENCODE_DISABLE_AUTOUPDATE = \"1\"\nOPENCODE_DISABLE_MODELS_FETCH = \"1\"\n", program, o.runner, conf)
	o.definition += "tools: read, bash, create, edit\n"
	y := newRealServer(t, m, o)
	return y
}

func TestRealOpencodeWorksOnATask(t *testing.T) {
	t.Parallel()
	outside := outsideFile(t)
	y := newOpencodeServer(t, realSetup{},
		doing("bash", map[string]any{"command": "echo 'from the agent' > notes.txt; echo bad > " + outside, "description": "Write notes"}),
		doing("taskyard_complete_task", map[string]any{"taskId": 1, "summary": "Notes are written."}),
		saying("I wrote notes.txt."))
	id := y.begin()
	y.want(y.ended(id), "completed|ended||I wrote notes.txt.")
	y.wrote("notes.txt", "from the agent\n")
	if got := y.rows("SELECT status, summary FROM tasks WHERE id = ?", id)[0]; got != "done|Notes are written." {
		t.Errorf("task %q", got)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "of somebody else\n" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
	if t.Failed() {
		t.Log(y.told(), strings.Join(y.results(), "\n"))
	}
	y.wantNobody("after the run", nil)
}
