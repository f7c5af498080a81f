package e2e

import (
	"strings"
	"testing"
)

// TestTheLoopInTheDocsWorks runs the agent loop of the page in a real shell.
func TestTheLoopInTheDocsWorks(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/cli.md")
	_, loop, _ := strings.Cut(page, "## Work as an agent\n\n```sh\n")
	loop, _, found := strings.Cut(loop, "```")
	if !found {
		t.Fatal("the page has no loop")
	}
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.ok("", "task", "create", "one")
	a.ok("", "task", "create", "two")
	// When both tasks are done, it ends as if the server were unreachable.
	loop = strings.ReplaceAll(loop, "taskyard task claim", "next_task")
	script := `next_task() { [ "$(taskyard task history --json | grep -o '"status":"done"' | wc -l)" -lt 2 ] || return 4; taskyard task claim "$@"; }
echo "It is done." > summary.md
` + loop
	out, err := a.script(t, "sh", script)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, id := range []string{"1", "2"} {
		if tk := a.read(id); tk.Summary != "It is done." || len(tk.Steps) != 2 || !tk.Steps[0].Done {
			t.Errorf("got task %s: %s", id, asJSON(tk))
		}
	}
}
