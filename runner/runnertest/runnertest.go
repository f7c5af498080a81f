//go:build linux

// Package runnertest contains what the tests of runners share: a run spec, a
// sink that records everything, and the test binary as the shim and as agents.
package runnertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"taskyard/internal/testkit"
	"taskyard/runner/confine/escape"
	"taskyard/runner/supervise"
	"taskyard/runner/tree"
	"taskyard/task"
)

// Deadline is how long a run in a test may take; the machine may be busy.
const Deadline = 60 * time.Second

// Grace is the time between the steps of a stop.
const Grace = 300 * time.Millisecond

const agentArg = "__agent"

// Main is the TestMain of a package. It lets the test binary act as a shim, as
// the escape tester, and as the named agents, and checks that no goroutine
// leaks.
func Main(m *testing.M, agents map[string]func(args []string)) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case supervise.ShimArg:
			testkit.EndHelper(supervise.ShimMain(os.Args[2:]))
		case agentArg:
			agents[os.Args[2]](os.Args[3:])
			testkit.EndHelper(0)
		case escape.Arg:
			escape.Main(os.Args[2:], os.Stdout)
			testkit.EndHelper(0)
		}
	}
	supervise.SetInstance(fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	testkit.RunBeside(6) // the tests mostly wait for programs
	goleak.VerifyTestMain(m)
}

// Agent returns an agent that the test binary implements.
func Agent(name string, args ...string) supervise.Program {
	return Program(append([]string{os.Args[0], agentArg, name}, args...)...)
}

// Program returns a program with a short grace period.
func Program(argv ...string) supervise.Program {
	return supervise.Program{Argv: argv, Grace: Grace}
}

var lastRun atomic.Int64

// NewSpec returns a run spec. At the end of the test, it fails if a process of
// the run is left.
func NewSpec(t *testing.T) supervise.Spec {
	t.Helper()
	id := task.ID(1_000_000 + lastRun.Add(1))
	t.Cleanup(func() {
		if left := supervise.ProcessesOfRun(id); len(left) > 0 {
			t.Errorf("run %d left %d processes: %v", id, len(left), left)
		}
	})
	return supervise.Spec{
		RunID: id, TaskID: 7, Attempt: 1, URL: "http://127.0.0.1:1", Token: "ty_token-of-this-run", Dir: t.TempDir(),
		Plan: task.Spec{Agent: "coder", Model: "small", SystemPrompt: "You are terse.", Prompt: "Do the work."},
	}
}

// Recorder is a sink that records everything.
type Recorder struct {
	OnEvent func(supervise.Event)         // called for every event
	OnStart func(supervise.Process) error // called by Started

	Events []supervise.Event // read only after the run has ended
	Bytes  int               // of texts and data

	mu      sync.Mutex
	process supervise.Process
}

// Process returns the argument of Started.
func (r *Recorder) Process() supervise.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// Started is called when the program has started.
func (r *Recorder) Started(p supervise.Process) error {
	r.mu.Lock()
	r.process = p
	r.mu.Unlock()
	if r.OnStart != nil {
		return r.OnStart(p)
	}
	return nil
}

// Event records an event.
func (r *Recorder) Event(e supervise.Event) {
	r.mu.Lock()
	r.Events = append(r.Events, e)
	r.Bytes += len(e.Text) + len(e.Data)
	r.mu.Unlock()
	if r.OnEvent != nil {
		r.OnEvent(e)
	}
}

// Texts returns the texts of all events of a type.
func (r *Recorder) Texts(typ string) (list []string) {
	for _, e := range r.Events {
		if e.Type == typ {
			list = append(list, e.Text)
		}
	}
	return list
}

// Data joins the data of the events of a type.
func (r *Recorder) Data(typ string) string {
	var b strings.Builder
	for _, e := range r.Events {
		if e.Type == typ {
			b.Write(e.Data)
		}
	}
	return b.String()
}

// Lines counts the reported lines; a line that paused halfway is reported in
// parts.
func (r *Recorder) Lines() (n int) {
	for _, e := range r.Events {
		if e.Type == supervise.EventText && string(e.Data) != `{"partial":true}` {
			n++
		}
	}
	return n
}

// Types lists the types of the events, without repetitions.
func (r *Recorder) Types() string {
	var list []string
	for _, e := range r.Events {
		if len(list) == 0 || list[len(list)-1] != e.Type {
			list = append(list, e.Type)
		}
	}
	return strings.Join(list, " ")
}

// Keeper is a Recorder that also records sessions.
type Keeper struct {
	*Recorder
	Sessions []string
}

// Session records the name of a session.
func (k *Keeper) Session(id string) { k.Sessions = append(k.Sessions, id) }

// CancelAt returns a context that is canceled, with the cause, when an event
// has the text word.
func CancelAt(t *testing.T, word string, cause error) (context.Context, *Recorder) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, &Recorder{OnEvent: func(e supervise.Event) {
		if e.Text == word {
			cancel(cause)
		}
	}}
}

// Run executes r until it ends, within the deadline.
func Run(t *testing.T, r supervise.Runner, spec supervise.Spec) (supervise.Outcome, *Recorder) {
	t.Helper()
	rec := &Recorder{}
	return RunWith(t, t.Context(), r, spec, rec), rec
}

// RunWith is like Run, with a context and a sink.
func RunWith(t *testing.T, ctx context.Context, r supervise.Runner, spec supervise.Spec, sink supervise.Sink) supervise.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, Deadline, context.DeadlineExceeded)
	defer cancel()
	out, err := r.Run(ctx, spec, sink)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("the run did not end within %v", Deadline)
	}
	return out
}

// WantState fails the test unless the outcome has this status and phase and its
// reason contains reason.
func WantState(t *testing.T, out supervise.Outcome, status task.RunStatus, phase task.Phase, reason string) {
	t.Helper()
	if out.Status != status || out.Phase != phase || !strings.Contains(out.Reason, reason) {
		t.Errorf("ended as %s/%s %q, want %s/%s with %q", out.Status, out.Phase, out.Reason, status, phase, reason)
	}
	if (out.Status == task.RunCompleted) != (out.Reason == "") || out.Status != task.RunCompleted && out.Summary != "" {
		t.Errorf("%s with reason %q and summary %q", out.Status, out.Reason, out.Summary)
	}
}

// HasEnded reports whether a process has ended.
func HasEnded(pid int) bool {
	p, ok := tree.Read(pid)
	return !ok || p.Dead
}

// PIDAfter finds "word N" in texts.
func PIDAfter(t *testing.T, texts []string, word string) int {
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

// Confined returns a confinement for programs. It skips the test if the machine
// lacks a suitable landlock.
func Confined(t *testing.T) supervise.Confinement {
	t.Helper()
	c := supervise.Confinement{On: true}
	if k := c.Machine(); k.Landlock < 6 || !k.Seccomp {
		t.Skipf("this machine has landlock v%d, seccomp %v", k.Landlock, k.Seccomp)
	}
	return c
}

// ReadText returns the text of a file.
func ReadText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// MaxTranscript is how many bytes of a run a sink receives, in addition to
// notes about its transcript.
const MaxTranscript = 16 << 20

// CheckEvents fails the test unless all events are within their bounds.
func CheckEvents(t *testing.T, r *Recorder) {
	t.Helper()
	if r.Bytes > MaxTranscript {
		t.Errorf("the sink got %d bytes", r.Bytes)
	}
	for _, e := range r.Events {
		if len(e.Text)+len(e.Data) > supervise.MaxEvent || !utf8.ValidString(e.Text) ||
			strings.ContainsRune(e.Text, 0) || len(e.Data) > 0 && !json.Valid(e.Data) {
			t.Fatalf("bad %s event of %d bytes, data %.80s", e.Type, len(e.Text), e.Data)
		}
	}
}

// Hang never returns. An empty select would be reported as a deadlock.
func Hang() {
	for {
		time.Sleep(time.Hour)
	}
}
