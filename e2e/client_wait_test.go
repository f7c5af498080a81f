package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/task"
)

func TestTasksThatWaitForOthersFromTheShell(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.ok("", "task", "create", "first")
	a.ok("", "task", "create", "second", "--label", "api", "--label", "ui", "--blocked-by", "1")
	if tk := a.read("2"); tk.WaitingFor != "tasks" || len(tk.BlockedBy) != 1 || strings.Join(tk.Labels, " ") != "api ui" {
		t.Errorf("got the created task %s", asJSON(tk))
	}
	if out := a.ok("", "task", "why", "2"); !strings.Contains(out, "1") {
		t.Errorf("why: got %s", out)
	}
	if out := a.ok("", "task", "show", "2"); !strings.Contains(out, "blocked by") ||
		!strings.Contains(out, "api ui") || !strings.Contains(out, "\nWhy\n") {
		t.Errorf("show: got %s", out)
	}
	if out := a.ok("", "task", "list", "--label", "ui"); strings.Contains(out, "first") || !strings.Contains(out, "second") {
		t.Errorf("list: got %s", out)
	}
	a.fails(client.ExitRefused, "1", "task", "block", "1", "2") // a cycle
	a.ok("", "task", "block", "2", "--none")
	a.ok("", "task", "update", "2", "--no-labels")
	if tk := a.read("2"); len(tk.BlockedBy)+len(tk.Labels) != 0 {
		t.Errorf("got the unblocked task %s", asJSON(tk))
	}
	a.ok("", "task", "block", "2", "1")
	if tk := a.read("2"); len(tk.BlockedBy) != 1 || tk.BlockedBy[0] != 1 {
		t.Errorf("got the blocked task %s", asJSON(tk))
	}
	a.fails(client.ExitUsage, "--none", "task", "block", "2")
	t.Run("why --json prints the response of the server", func(t *testing.T) {
		want := call[json.RawMessage](t, &client.Client{URL: in.url, Token: a.env["TASKYARD_TOKEN"]}, "GET", "/api/tasks/2/why", nil)
		if got := a.ok("", "task", "why", "2", "--json"); got != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestWorkIsDelegatedFromTheShell(t *testing.T) {
	t.Parallel()
	p := shellOfEcho(t, "never")
	t.Run("a success has its summary", func(t *testing.T) {
		if out := p.ok("Echo it.", "delegate", "-", "--agent", "echo", "--wait", "50"); !strings.Contains(out, "all is well") {
			t.Error(out)
		}
	})
	t.Run("a delegation can be waited for later, and stopped", func(t *testing.T) {
		id := p.ok("", "delegate", "Echo it again.", "--agent", "echo", "--quiet")
		if out := p.ok("", "delegate", "show", id, "--wait", "50"); !strings.Contains(out, string(task.RunCompleted)) {
			t.Error(out)
		}
		p.fails(client.ExitRefused, "run_ended", "delegate", "stop", id)
	})
	t.Run("a missing text is a usage error, an unknown agent is refused", func(t *testing.T) {
		p.fails(client.ExitUsage, "say what to do", "delegate")
		p.fails(client.ExitRefused, "unknown_agent", "delegate", "x", "--agent", "nobody")
	})
}
