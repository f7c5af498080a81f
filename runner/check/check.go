// Package check runs the commands of projects: checks, which are evidence, and
// the commands that prepare a worktree. They execute code that agents wrote,
// and are therefore confined like the shell of the built-in agent.
package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskyard/runner/builtin/tools"
	"taskyard/runner/remove"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// Runner runs commands. It is safe for concurrent use.
type Runner struct {
	Redact     func(string) string // removes secrets from the output; nil: there are none
	Unconfined bool                // run commands without confinement if none is available
	Shell      []string            // command line of the keeper; nil: this binary
}

// Command is one command of a project.
type Command struct {
	Run      string
	Folder   string // working folder, which it may write to
	Home     string // folder that it may also write to, and which is kept; "": a temporary one
	Readable []string
	Network  bool
	Timeout  time.Duration
	Task     task.ID
}

// Outcome is how a command ended.
type Outcome struct {
	Verdict  task.Verdict
	ExitCode int
	Reason   string // why it did not pass
	Log      string // the end of its output, at most task.MaxCheckLog bytes
	Millis   int64
	Level    string // how it was confined
}

// errStopped is the reason of a command that ended with the server.
var errStopped = errors.New("the server stopped it")

// Run runs a command and returns when all of its processes have ended.
func (r Runner) Run(ctx context.Context, c Command) Outcome {
	o := tools.Options{
		Root: c.Folder, Network: c.Network, AcceptUnconfinedShell: r.Unconfined, ReadOnly: c.Readable, ShellStart: r.Shell,
		// Go must not stamp the state of a repository that the command cannot
		// read into a program.
		Env: []string{"CI=true", "TASKYARD_TASK_ID=" + c.Task.String(), "GOFLAGS=-buildvcs=false"},
	}
	out := Outcome{Verdict: task.CheckNotRun, Level: tools.Level(o)}
	if c.Home != "" {
		done, err := privateFolder(ctx, c.Home)
		if err != nil {
			out.Reason = "its HOME could not be made: " + err.Error()
			return out
		}
		defer done()
		o.Private = c.Home
	}
	box, err := tools.Open(o)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	defer func() { _ = box.Close() }()
	var log tail
	timed, stop := context.WithTimeout(ctx, c.Timeout)
	defer stop()
	began := time.Now()
	end, err := box.Exec(timed, c.Run, &log)
	out.Millis = time.Since(began).Milliseconds()
	out.Log = log.text(r.Redact)
	out.ExitCode = end.Code
	switch {
	case ctx.Err() != nil:
		out.Reason = errStopped.Error()
	case err != nil:
		out.Reason = err.Error()
	case end.Over != "":
		out.Verdict, out.Reason = task.CheckFailed, "it was ended: it had "+end.Over
	case end.Stopped:
		out.Verdict, out.Reason = task.CheckTimedOut, fmt.Sprintf("it took longer than %v", c.Timeout)
	case end.Signal != 0:
		out.Verdict, out.Reason = task.CheckFailed, fmt.Sprintf("it was killed by signal %d (%v)", end.Signal, syscall.Signal(end.Signal))
	case end.Code != 0:
		out.Verdict, out.Reason = task.CheckFailed, fmt.Sprintf("exit code %d", end.Code)
	default:
		out.Verdict = task.CheckPassed
	}
	return out
}

// Sum returns the SHA-256 of a log, in hexadecimal.
func Sum(log string) string {
	sum := sha256.Sum256([]byte(log))
	return hex.EncodeToString(sum[:])
}

// homes holds a mutex for each HOME that is kept: only one command at a time
// may use its TMPDIR.
var homes sync.Map

// privateFolder creates a folder with home and tmp; done removes tmp.
func privateFolder(ctx context.Context, dir string) (done func(), err error) {
	m, _ := homes.LoadOrStore(dir, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	defer func() {
		if err != nil {
			mu.Unlock()
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err = remove.All(ctx, root, "tmp"); err == nil { // left by a killed server
		err = errors.Join(root.MkdirAll("home", 0o700), root.Mkdir("tmp", 0o700))
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return func() {
		_ = remove.All(context.WithoutCancel(ctx), root, "tmp")
		_ = root.Close()
		mu.Unlock()
	}, nil
}

// tail keeps the end of what is written.
type tail struct {
	b   []byte
	cut bool
}

// spare is the number of bytes kept in addition to a log, so that a secret at
// the cut is dropped with its line.
const spare = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	const keep = task.MaxCheckLog + spare
	t.b = append(t.b, p...)
	if len(t.b) > 2*keep {
		t.b, t.cut = t.b[:copy(t.b, t.b[len(t.b)-keep:])], true
	}
	return len(p), nil
}

func (t *tail) text(redact func(string) string) string {
	b := t.b
	if t.cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < spare {
			b = b[i+1:]
		} else {
			b = b[min(spare, len(b)):]
		}
	}
	s := string(b)
	if redact != nil {
		s = redact(s)
	}
	s = strings.ReplaceAll(textdiff.Printable(s), "\x00", "^@")
	if len(s) > task.MaxCheckLog {
		s = s[len(s)-task.MaxCheckLog:]
		if i := strings.IndexByte(s, '\n'); i >= 0 && i < spare {
			s = s[i+1:]
		}
		s = strings.ToValidUTF8(s, "")
	}
	return s
}

// Glob returns a function that tests a slash-separated path against a pattern,
// in which ** matches any folders.
func Glob(pattern string) (func(path string) bool, error) { return tools.Glob(pattern) }
