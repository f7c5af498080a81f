package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// A newcomer has only the README and the quick start: its commands install the
// program, the demo opens, and a new instance has an agent that completes a task. The
// times are logged.
func TestStory22TheReadmeIsEnoughForANewcomer(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	took := func(what string) { t.Logf("%s after %v", what, time.Since(begin).Round(100*time.Millisecond)) }
	readme := read(t, "README.md")
	for _, command := range []string{"go run . demo ", "go test ./... ", "go install . ", "taskyard token create --agent coder"} {
		if !strings.Contains(readme, command) {
			t.Fatalf("the README no longer contains %q", command)
		}
	}
	bin := t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", ".")
	install.Env = append(os.Environ(), "GOBIN="+bin)
	output(t, install)
	program := filepath.Join(bin, "taskyard")
	took("installed")

	demo := newServer(t, "demo", "--fast")
	demo.program = []string{program}
	demo.start()
	people := newBrowser(t)
	if status, _ := people.get(demo.first); status != http.StatusOK {
		t.Fatalf("for the link of the demo, got status %d", status)
	}
	took("the demo is open")
	demo.kill()

	own := newServer(t)
	own.program = []string{program}
	for _, b := range fencedBlocks(t, "docs/quickstart.md") {
		if b.language == "markdown" {
			own.file("agents/coder.md", b.text)
		}
	}
	own.start()
	own.signedIn()
	took("the new instance has an admin")
	made := call[task.Task](t, own.api(own.token("--scope", "operate")), "POST", "/api/tasks",
		map[string]any{"title": "Write the first note", "owner": "coder"})
	token := own.token("--agent", "coder")
	agent := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "TASKYARD_URL="+own.url(), "TASKYARD_TOKEN="+token)
		return output(t, cmd)
	}
	if out := agent("task", "claim", "--wait", "50"); !strings.Contains(out, made.Title) {
		t.Errorf("the claim printed %s", out)
	}
	agent("task", "complete", made.ID.String(), "--summary", "It is written.")
	done := call[task.Task](t, own.api(token), "GET", "/api/tasks/"+made.ID.String(), nil)
	if done.Status != task.Done || done.Summary != "It is written." {
		t.Errorf("got the task %s, %q", done.Status, done.Summary)
	}
	took("an agent has completed a task")
}
