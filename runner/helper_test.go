//go:build linux

package runner

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/runner/tree"
	"taskyard/task"
)

const deadline = 60 * time.Second // the machine may be busy

var lastRun atomic.Int64

// newSpec returns a run of its own; at the end of the test no process of it
// may be left.
func newSpec(t *testing.T) Spec {
	t.Helper()
	id := task.ID(1_000_000 + lastRun.Add(1))
	t.Cleanup(func() {
		if left := runProcesses(id); len(left) > 0 {
			t.Errorf("run %d left %d processes: %v", id, len(left), left)
		}
	})
	return Spec{
		RunID: id, TaskID: 7, Attempt: 1, URL: "http://127.0.0.1:1", Token: "ty_token-of-this-run", Dir: t.TempDir(),
		Plan: task.Spec{Agent: "coder", Model: "small", SystemPrompt: "You are terse.", Prompt: "Do the work."},
	}
}

// sh is a command that runs a shell script.
func sh(script string) *Command { return command("/bin/sh", "-c", script) }

// play is a command that runs a scripted agent of this binary.
func play(what string, args ...string) *Command {
	return command(append([]string{os.Args[0], agentArg, what}, args...)...)
}

func command(argv ...string) *Command { return &Command{Argv: argv, Grace: 300 * time.Millisecond} }

// recorder is a sink that keeps everything.
type recorder struct {
	mu      sync.Mutex
	process Process
	events  []Event
	bytes   int
	on      func(Event)         // called for every event
	start   func(Process) error // called by Started
}

func (r *recorder) Started(p Process) error {
	r.mu.Lock()
	r.process = p
	r.mu.Unlock()
	if r.start != nil {
		return r.start(p)
	}
	return nil
}

func (r *recorder) Event(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.bytes += len(e.Text) + len(e.Data)
	r.mu.Unlock()
	if r.on != nil {
		r.on(e)
	}
}

// texts returns the texts of all events of a type.
func (r *recorder) texts(typ string) (list []string) {
	for _, e := range r.events {
		if e.Type == typ {
			list = append(list, e.Text)
		}
	}
	return list
}

// data joins the data of the events of a type.
func (r *recorder) data(typ string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.events {
		if e.Type == typ {
			b.Write(e.Data)
		}
	}
	return b.String()
}

// lines counts the lines that were told; one that paused halfway is told in
// parts.
func (r *recorder) lines() (n int) {
	for _, e := range r.events {
		if e.Type == EventText && string(e.Data) != `{"partial":true}` {
			n++
		}
	}
	return n
}

// run runs c to its end, within the deadline.
func run(t *testing.T, c Runner, spec Spec) (Outcome, *recorder) {
	t.Helper()
	r := &recorder{}
	return runWith(t, t.Context(), c, spec, r), r
}

func runWith(t *testing.T, ctx context.Context, c Runner, spec Spec, r Sink) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, context.DeadlineExceeded)
	defer cancel()
	out, err := c.Run(ctx, spec, r)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("the run did not end within %v", deadline)
	}
	return out
}

func wantState(t *testing.T, out Outcome, status task.RunStatus, phase task.Phase, reason string) {
	t.Helper()
	if out.Status != status || out.Phase != phase || !strings.Contains(out.Reason, reason) {
		t.Errorf("ended as %s/%s %q, want %s/%s with %q", out.Status, out.Phase, out.Reason, status, phase, reason)
	}
	if (out.Status == task.RunCompleted) != (out.Reason == "") || out.Status != task.RunCompleted && out.Summary != "" {
		t.Errorf("%s with reason %q and summary %q", out.Status, out.Reason, out.Summary)
	}
}

func gone(pid int) bool {
	p, ok := tree.Read(pid)
	return !ok || p.Dead
}

// pidAfter finds "word N" in texts.
func pidAfter(t *testing.T, texts []string, word string) int {
	t.Helper()
	for _, line := range texts {
		if n, ok := strings.CutPrefix(line, word+" "); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(n))
			if err == nil {
				return pid
			}
		}
	}
	t.Fatalf("no %q in %q", word, texts)
	return 0
}
