package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// follow runs events --follow in the background and passes on its lines.
func (s *shell) follow(t *testing.T, args ...string) (lines <-chan string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var errs testkit.Buffer
	e := &cmd.Env{Ctx: ctx, Getenv: func(k string) string { return s.env[k] }, Stdin: strings.NewReader(""), Stdout: w, Stderr: &errs}
	ended := make(chan int, 1)
	go func() {
		ended <- cmd.Run(e, append([]string{"events", "--follow"}, args...))
		w.Close()
	}()
	ch := make(chan string, 100)
	go func() {
		defer close(ch)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			ch <- sc.Text()
		}
	}()
	t.Cleanup(cancel)
	return ch, func() int {
		cancel()
		select {
		case code := <-ended:
			return code
		case <-time.After(patience):
			t.Fatalf("it did not end: %s", errs.String())
		}
		return -1
	}
}

// nextLine returns the next line that contains a word.
func nextLine(t *testing.T, lines <-chan string, word string) string {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case l, open := <-lines:
			if !open {
				t.Fatalf("the lines ended before %s", word)
			}
			if strings.Contains(l, word) {
				return l
			}
		case <-late:
			t.Fatalf("got no line with %s", word)
		}
	}
}

func TestEventsAreFollowedAcrossARestart(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	a := &shell{t, map[string]string{"TASKYARD_URL": s.url(), "TASKYARD_TOKEN": s.token("--agent", agentName)}}
	a.ok("", "task", "create", "before")
	text, stopText := a.follow(t, "--after", "1")
	nextLine(t, text, task.EvTaskCreated)
	docs, stopDocs := a.follow(t, "--json", "--after", "0")
	seen := map[task.ID]int{}
	read := func() (e task.Event) {
		testkit.NoError(t, json.Unmarshal([]byte(nextLine(t, docs, "")), &e))
		if seen[e.ID]++; seen[e.ID] > 1 {
			t.Errorf("got event %d %d times", e.ID, seen[e.ID])
		}
		return e
	}
	read()

	s.kill()
	s.start()
	a.ok("", "task", "create", "evil \x1b[31m", "--owner", otherAgent)
	if l := nextLine(t, text, task.EvTaskCreated); !strings.Contains(l, "#2 "+otherAgent) || strings.ContainsRune(l, '\x1b') {
		t.Errorf("got the line %q", l)
	}
	for e := read(); e.TaskID != 2; e = read() { // each event is counted
	}
	for _, stop := range []func() int{stopText, stopDocs} {
		if code := stop(); code != client.ExitDone {
			t.Errorf("interrupted, it exited with %d", code)
		}
	}
}

func TestFollowingNeedsAFirstConnection(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.with(t, "TASKYARD_URL", "http://"+freeAddress(t)).fails(client.ExitUnreachable, "cannot reach the server", "events", "--follow")
	a.with(t, "TASKYARD_TOKEN", "ty_wrong").fails(client.ExitRefused, "unauthorized", "events", "--follow")
	a.fails(client.ExitRefused, "after", "events", "--follow", "--after", "x")
}
