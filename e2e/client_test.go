package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// shell runs client commands with its own environment.
type shell struct {
	t   testing.TB
	env map[string]string
}

// shellFor returns a shell with a token of the given kind, such as --agent coder.
func (in *inside) shellFor(t testing.TB, token ...string) *shell {
	t.Helper()
	secret := must(t, "", append([]string{"token", "create", "--data", in.data}, token...)...)
	return &shell{t, map[string]string{"TASKYARD_URL": in.url, "TASKYARD_TOKEN": secret}}
}

// with returns the shell with one more variable.
func (s *shell) with(t testing.TB, name, value string) *shell {
	env := map[string]string{name: value}
	for k, v := range s.env {
		if k != name {
			env[k] = v
		}
	}
	return &shell{t, env}
}

// try runs a command inside this process.
func (s *shell) try(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs testkit.Buffer
	e := &cmd.Env{
		Ctx: s.t.Context(), Getenv: func(k string) string { return s.env[k] },
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
	}
	code = cmd.Run(e, args)
	return out.String(), errs.String(), code
}

// ok is try for commands that must succeed; the last newline is cut.
func (s *shell) ok(stdin string, args ...string) string {
	s.t.Helper()
	out, errs, code := s.try(stdin, args...)
	if code != client.ExitDone {
		s.t.Fatalf("taskyard %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return strings.TrimSuffix(out, "\n")
}

// fails is try for commands that must end with this code and message on stderr.
func (s *shell) fails(code int, say string, args ...string) {
	s.t.Helper()
	out, errs, got := s.try("", args...)
	if got != code || !strings.Contains(errs, say) {
		s.t.Errorf("taskyard %s: got exit code %d, want %d with %q: %s%s", strings.Join(args, " "), got, code, say, out, errs)
	}
}

// read returns a task as the server shows it.
func (s *shell) read(id string) task.Task {
	s.t.Helper()
	return call[task.Task](s.t, &client.Client{URL: s.env["TASKYARD_URL"], Token: s.env["TASKYARD_TOKEN"]}, "GET", "/api/tasks/"+id, nil)
}

const agentName, otherAgent = "general-purpose", "code-focused" // a new instance has both

func TestAnAgentWorksFromTheShell(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a, other := in.shellFor(t, "--agent", agentName), in.shellFor(t, "--agent", otherAgent)

	if id := a.ok("Say `why`.\n", "task", "create", "Explain", "--description", "-", "--priority",
		"5", "--step", "Read, then think", "--quiet"); id != "1" {
		t.Fatalf("got the ID %q", id)
	}
	a.ok("", "task", "create", "Later")
	if tk := a.read("1"); tk.Owner != agentName || tk.Description != "Say `why`." || tk.Priority != 5 ||
		len(tk.Steps) != 1 || tk.Steps[0].Title != "Read, then think" {
		t.Errorf("got the created task %s", asJSON(tk))
	}
	if id := a.ok("", "task", "claim", "--quiet"); id != "1" {
		t.Fatalf("claimed %q", id)
	}
	a.ok("- [x] Read\n- Think\n", "task", "steps", "1")
	a.ok("", "task", "step", "1", "1", "--done", "--details", "hard")
	if tk := a.read("1"); len(tk.Steps) != 2 || !tk.Steps[0].Done || !tk.Steps[1].Done || tk.Steps[1].Details != "hard" {
		t.Errorf("got the plan %s", asJSON(tk.Steps))
	}
	if id := a.ok("", "task", "subtask", "1", "0", "Look it up", "--owner", otherAgent, "--quiet"); id != "3" ||
		other.read("3").ParentTaskID != 1 {
		t.Errorf("got the subtask %q", id)
	}
	a.ok("", "task", "attach", "1", "https://example.org/", "--label", "place")
	a.ok("It is\nso.", "task", "comment", "1", "-")
	a.ok("", "task", "heartbeat", "1")
	a.ok("", "task", "update", "1", "--title", "Explain it", "--priority=-2")
	tk := a.read("1")
	if tk.Title != "Explain it" || tk.Priority != -2 || len(tk.Resources) != 1 || len(tk.Comments) != 1 || tk.Comments[0].Content != "It is\nso." {
		t.Errorf("got the task %s", asJSON(tk))
	}
	a.ok("What is left is in the comment.", "task", "move", "1", otherAgent, "--comment", "-")
	if tk := a.read("1"); tk.Owner != otherAgent || tk.Claim != nil || tk.Comments[1].Kind != task.KindHandoff {
		t.Errorf("got the moved task %s", asJSON(tk))
	}
	if id := other.ok("", "task", "claim", "--count", "5", "--quiet"); id != "3\n1" { // by priority
		t.Errorf("claimed %q", id)
	}
	other.ok("", "task", "release", "1")
	other.ok("", "task", "cancel", "3", "--reason", "known already")
	if tk := other.read("3"); tk.Status != task.Canceled {
		t.Errorf("got the canceled task %s", asJSON(tk))
	}
}

func TestCompletingATaskCanClaimTheNext(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	for _, title := range []string{"first", "second"} {
		a.ok("", "task", "create", title)
	}
	a.ok("", "task", "claim")
	if id := a.ok("Said.\n", "task", "complete", "1", "--next", "--quiet", "--file", "-"); id != "2" {
		t.Errorf("got the next task %q", id)
	}
	if tk := a.read("1"); tk.Status != task.Done || tk.Summary != "Said." {
		t.Errorf("got the completed task %s", asJSON(tk))
	}
	a.fails(client.ExitNothing, "no task is idle", "task", "complete", "2", "--next")
	if tk := a.read("2"); tk.Status != task.Done {
		t.Errorf("with exit code 3, the task is %s", tk.Status)
	}
	if out := a.ok("", "task", "history", "--owner", agentName); !strings.Contains(out, "second") ||
		strings.Index(out, "second") > strings.Index(out, "first") {
		t.Errorf("history:\n%s", out)
	}
}

func TestExitCodesOfCommands(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.ok("", "task", "create", "x")
	t.Run("0: done", func(t *testing.T) { a.ok("", "task", "list") })
	t.Run("1: refused, with the fields", func(t *testing.T) {
		a.fails(client.ExitRefused, "field: owner", "task", "create", "x", "--owner", "nobody")
		a.fails(client.ExitRefused, "title: must not be blank", "task", "create", "")
		a.fails(client.ExitRefused, "task_not_working", "task", "move", "1", otherAgent, "--comment", "x")
		a.fails(client.ExitRefused, "forbidden", "task", "reply", "1", "x")
	})
	t.Run("1: a bad token, with the fix", func(t *testing.T) {
		a.with(t, "TASKYARD_TOKEN", "ty_wrong").fails(client.ExitRefused, "taskyard token create", "task", "list")
	})
	t.Run("2: usage, with the command for help", func(t *testing.T) {
		a.fails(client.ExitUsage, "taskyard task --help", "task", "shwo")
		a.fails(client.ExitUsage, "taskyard task show --help", "task", "show", "--nope")
		a.fails(client.ExitUsage, "positive whole number", "task", "show", "5a")
		a.fails(client.ExitUsage, "TASKYARD_TASK_ID", "task", "show")
		a.fails(client.ExitUsage, "a text", "task", "comment")
		a.with(t, "TASKYARD_TOKEN", "").fails(client.ExitUsage, "TASKYARD_TOKEN", "task", "list")
	})
	t.Run("3: nothing to claim", func(t *testing.T) {
		a.ok("", "task", "claim")
		a.fails(client.ExitNothing, "no task is idle", "task", "claim")
		out, _, code := a.try("", "task", "claim", "--json")
		if code != client.ExitNothing || out != "{\"task\":null,\"held\":[\"1\"]}\n" {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("4: no server", func(t *testing.T) {
		a.with(t, "TASKYARD_URL", "http://"+freeAddress(t)).fails(client.ExitUnreachable, "TASKYARD_URL", "task", "list")
	})
}

func TestDefaultsComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a, admin := in.shellFor(t, "--agent", agentName), in.shellFor(t, "--scope", "admin")
	t.Run("the agent defaults to that of the token", func(t *testing.T) {
		if out := a.ok("", "agent", "show"); !strings.HasPrefix(out, agentName+":") {
			t.Error(out)
		}
	})
	t.Run("a person names an agent", func(t *testing.T) {
		admin.fails(client.ExitUsage, "TASKYARD_AGENT", "task", "create", "x")
		admin.with(t, "TASKYARD_AGENT", agentName).ok("", "task", "create", "x")
		admin.ok("", "task", "create", "y", "--owner", otherAgent)
		if tk := admin.read("1"); tk.Owner != agentName || admin.read("2").Owner != otherAgent {
			t.Errorf("got owner %s", tk.Owner)
		}
	})
	t.Run("the task defaults to that of the run", func(t *testing.T) {
		run := a.with(t, "TASKYARD_TASK_ID", "1")
		run.ok("", "task", "comment", "by default")
		run.ok("one", "task", "steps")
		run.ok("", "task", "step", "0", "--done")
		run.fails(client.ExitUsage, "the id and the text", "task", "comment", "43")
		run.ok("", "task", "complete", "--summary", "all of it")
		tk := run.read("1")
		if tk.Status != task.Done || len(tk.Comments) != 1 || !tk.Steps[0].Done || tk.Summary != "all of it" {
			t.Errorf("%s", asJSON(tk))
		}
	})
	t.Run("the token may be in a file", func(t *testing.T) {
		file := put(t, filepath.Join(t.TempDir(), "token"), a.env["TASKYARD_TOKEN"]+"\n")
		s := &shell{t, map[string]string{"TASKYARD_URL": in.url, "TASKYARD_TOKEN_FILE": file}}
		if out := s.ok("", "whoami"); !strings.Contains(out, "agent:"+agentName) {
			t.Error(out)
		}
	})
}

func TestJSONIsTheResponseOfTheServer(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--scope", "admin")
	a.ok("", "task", "create", "x \x1b[31m <&>", "--owner", agentName)
	api := &client.Client{URL: in.url, Token: a.env["TASKYARD_TOKEN"]}
	for _, c := range []struct{ path, args string }{
		{"/api/tasks", "task list --json"},
		{"/api/tasks/1", "task show 1 --json"},
		{"/api/tasks/history", "task --json history"},
		{"/api/agents", "agent list --json"},
		{"/api/agents/" + agentName + "/queue", "agent queue " + agentName + " --json"},
		{"/api/runs", "run list --json"},
		{"/api/events", "events --json"},
		{"/api/me", "whoami --json"},
		{"/api/inbox", "inbox --json"},
	} {
		t.Run(c.args, func(t *testing.T) {
			want := call[json.RawMessage](t, api, "GET", c.path, nil)
			if got := a.ok("", strings.Fields(c.args)...); got != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if out := a.ok("", "task", "list"); strings.ContainsRune(out, '\x1b') || !strings.Contains(out, `\x1b[31m <&>`) {
		t.Errorf("got the table\n%s", out)
	}
}

// shellOfEcho returns an administrator's shell for a server whose agent echo reports
// that all is well.
func shellOfEcho(t *testing.T, approval string) *shell {
	t.Helper()
	in := serveInside(t, "taskyard.toml", `
[approval]
policy = "`+approval+`"
[runners.echo]
kind = "command"
command = ["sh", "-c", "cat >/dev/null; echo all is well"]
`, "agents/echo.md", "---\nname: Echo\ndescription: echoes\ntools: read\nrunner: echo\n---\nEcho.\n")
	return in.shellFor(t, "--scope", "admin")
}

func TestRunsAreSeenDecidedAndAwaited(t *testing.T) {
	t.Parallel()
	p := shellOfEcho(t, "always")
	dispatch := func() string {
		id := p.ok("", "task", "create", "x", "--owner", "echo", "--no-start", "--quiet")
		return p.ok("", "task", "run", id, "--quiet")
	}
	t.Run("run wait waits for the end of an approved run", func(t *testing.T) {
		id := dispatch()
		if out := p.ok("", "run", "show", id); !strings.Contains(out, "taskyard run approve "+id+" --version ") ||
			!strings.Contains(out, "Echo.") {
			t.Errorf("a reviewer got\n%s", out)
		}
		p.fails(client.ExitRefused, "run_changed", "run", "approve", id, "--version", "other")
		p.ok("", "run", "approve", id, "--timeout", "60")
		if out := p.ok("", "run", "wait", id, "--timeout", patience.String()); !strings.Contains(out, "all is well") {
			t.Errorf("got\n%s", out)
		}
		if out := p.ok("", "run", "transcript", id); !strings.Contains(out, "all is well") {
			t.Errorf("transcript\n%s", out)
		}
		p.fails(client.ExitRefused, "run_already_decided", "run", "deny", id, "--reason", "late")
		if again := p.ok("", "run", "retry", id, "--quiet"); again == id {
			t.Errorf("got the retry %s", again)
		}
	})
	t.Run("run wait fails for a denied run", func(t *testing.T) {
		id := dispatch()
		p.ok("not `now`", "run", "deny", id, "--reason", "-")
		p.fails(client.ExitRefused, "not `now`", "run", "wait", id)
	})
	t.Run("run wait can time out", func(t *testing.T) {
		id := dispatch()
		p.fails(client.ExitRefused, "still pending", "run", "wait", id, "--timeout", "1ms")
		p.ok("", "run", "cancel", id)
		if out := p.ok("", "run", "list", "--status", "canceled", "--agent", "echo"); !strings.Contains(out, fmt.Sprintf("\n%s ", id)) {
			t.Errorf("list\n%s", out)
		}
	})
}

// leaves returns the paths of the client commands.
func leaves(t *testing.T) (paths [][]string) {
	t.Helper()
	k, err := kong.New(&cmd.Commands{}, kong.ExplicitGroups(cmd.Groups))
	testkit.NoError(t, err)
	for _, n := range k.Model.Leaves(true) {
		if n.ClosestGroup().Key == "work" || n.Name == "completion" {
			paths = append(paths, strings.Fields(n.Path()))
		}
	}
	return paths
}

// TestTheHelpIsComplete walks every command: each says what it does and has an example.
func TestTheHelpIsComplete(t *testing.T) {
	t.Parallel()
	for _, path := range leaves(t) {
		out := must(t, "", append(slices.Clone(path), "--help")...)
		if name := strings.TrimSuffix(strings.TrimSuffix(strings.Join(path, " "), " list"), " start"); !strings.Contains(out,
			"\n    taskyard "+name) && !strings.Contains(out, "(taskyard "+name) && !strings.Contains(out, "| taskyard "+name) {
			t.Errorf("there is no example of %s:\n%s", name, out)
		}
	}
	out := must(t, "", "--help")
	if n := strings.Count(out, "\n"); n > 60 || !strings.Contains(out, "3 nothing to claim") {
		t.Errorf("taskyard --help has %d lines:\n%s", n, out)
	}
}
