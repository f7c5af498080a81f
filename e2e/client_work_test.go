package e2e

import (
	"strings"
	"testing"

	"taskyard/internal/client"
)

func TestTodoListsFromTheShell(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a, other := in.shellFor(t, "--agent", agentName), in.shellFor(t, "--agent", otherAgent)
	a.fails(client.ExitNothing, "empty", "todo", "lpop")
	a.fails(client.ExitNothing, "empty", "todo", "rpeek")
	if n := a.ok("", "todo", "count"); n != "0" {
		t.Errorf("got count %s", n)
	}
	a.ok("", "todo", "rpush", "b")
	a.ok("", "todo", "lpush", "a")
	if n := a.ok("two `lines`\nwith \x1b[31m\n", "todo", "rpush", "-"); n != "3" {
		t.Errorf("rpush printed %s", n)
	}
	t.Run("a list has one item per line, safe for a terminal", func(t *testing.T) {
		if out := a.ok("", "todo", "list"); out != "a\nb\ntwo `lines`\\nwith \\x1b[31m" {
			t.Errorf("%q", out)
		}
	})
	t.Run("a single item is printed unchanged", func(t *testing.T) {
		if out := a.ok("", "todo", "rpeek"); out != "two `lines`\nwith \x1b[31m" {
			t.Errorf("%q", out)
		}
	})
	t.Run("L is the front, R the back", func(t *testing.T) {
		a.ok("", "todo", "rpop")
		if l, r := a.ok("", "todo", "lpeek"), a.ok("", "todo", "rpeek"); l != "a" || r != "b" {
			t.Errorf("%s %s", l, r)
		}
	})
	t.Run("the list of another agent is named", func(t *testing.T) {
		if out := other.ok("", "todo", "lpop", "--agent", agentName, "--json"); out != `{"ok":true,"item":"a"}` {
			t.Errorf("%s", out)
		}
		if n := a.ok("", "todo", "count"); n != "1" {
			t.Errorf("got count %s", n)
		}
	})
	t.Run("an empty list is JSON too, with exit code 3", func(t *testing.T) {
		if out, _, code := other.try("", "todo", "lpop", "--json"); code != client.ExitNothing || out != "{\"ok\":false}\n" {
			t.Errorf("%d %s", code, out)
		}
	})
}

func TestAClaimCanWait(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.fails(client.ExitRefused, "waitSeconds", "task", "claim", "--wait", "51")
	a.fails(client.ExitNothing, "no task is idle", "task", "claim", "--wait", "1")
	id := make(chan string, 1)
	go func() {
		out, _, _ := a.try("", "task", "claim", "--wait", "50", "--quiet")
		id <- out
	}()
	a.ok("", "task", "create", "x")
	if got := <-id; got != "1\n" {
		t.Errorf("claimed %q", got)
	}
}

func TestPausesAndTheInboxFromTheShell(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a, p := in.shellFor(t, "--agent", agentName), in.shellFor(t, "--scope", "admin", "--name", "maya")
	a.ok("", "task", "create", "x")
	t.Run("pause, of an agent", func(t *testing.T) {
		if out := p.ok("", "pause", agentName, "--reason", "lunch"); !strings.Contains(out, agentName+", by user:maya since ") ||
			!strings.Contains(out, "lunch") {
			t.Error(out)
		}
		a.fails(client.ExitRefused, "lunch", "task", "claim")
		a.fails(client.ExitRefused, "forbidden", "resume", agentName)
		a.fails(client.ExitNothing, "no task is claimed: agent "+agentName+" has been paused", "task",
			"complete", a.ok("", "task", "create", "y", "--quiet"), "--next")
		p.ok("", "resume", agentName)
	})
	t.Run("stop everything, and resume", func(t *testing.T) {
		if out := p.ok("It runs wild.", "stop-everything", "--reason", "-"); !strings.Contains(out, "It runs wild.") {
			t.Error(out)
		}
		a.fails(client.ExitRefused, "paused", "task", "claim")
		p.ok("", "resume")
		p.fails(client.ExitUsage, "--reason", "pause")
	})
	t.Run("questions and notices wait in the inbox", func(t *testing.T) {
		if out := p.ok("", "inbox"); out != "nothing is waiting for people" {
			t.Error(out)
		}
		a.ok("Which\n`name`?", "task", "ask", "1", "-")
		a.ok("", "task", "notify", "1", "The preview is up")
		out := p.ok("", "inbox")
		if !strings.Contains(out, "    Which\n    `name`?") || !strings.Contains(out, "The preview is up") {
			t.Errorf("%s", out)
		}
		questions, notices, _ := strings.Cut(out, "Notices")
		number := func(part string) string {
			_, n, _ := strings.Cut(part, "#1 x  (")
			n, _, _ = strings.Cut(n, ",")
			return n
		}
		p.fails(client.ExitRefused, "another one is open", "task", "reply", "1", "The first", "--question", number(notices))
		p.ok("", "task", "reply", "1", "The first", "--question", number(questions))
		p.ok("", "inbox", "acknowledge", number(notices))
		if out := p.ok("", "inbox"); out != "nothing is waiting for people" {
			t.Error(out)
		}
	})
}
