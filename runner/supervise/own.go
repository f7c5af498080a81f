package supervise

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"taskyard/runner/scratch"
	"taskyard/task"
)

// RunOwn runs a program for the server itself, not for a task: in a separate
// folder, with the environment of the server except for Taskyard's variables.
// say receives each line of its output. RunOwn returns when the whole process
// tree has ended. Errors: the program did not start, did not exit with 0, or
// took longer than timeout (whole seconds).
func RunOwn(ctx context.Context, argv []string, timeout time.Duration, say func(line string)) error {
	p := Program{Argv: argv, Env: map[string]string{}}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		p.Env[name] = value
	}
	out, err := p.runAlone(ctx, timeout, textSink(say), func(r *Run) Reader { return exitReader{r} })
	if err == nil && out.Status != task.RunCompleted {
		err = errors.New(out.Reason)
	}
	return err
}

// aloneCount numbers the programs that run for no task, so that the end of one does
// not end the processes of another.
var aloneCount atomic.Int64

// runAlone runs a program for no task, in a separate folder.
func (p Program) runAlone(ctx context.Context, timeout time.Duration, sink Sink, read func(*Run) Reader) (Outcome, error) {
	dir, err := scratch.New("own")
	if err != nil {
		return Failed(task.PhaseError, err.Error()), nil
	}
	defer func() { _ = dir.Remove(context.WithoutCancel(ctx)) }()
	var spec Spec
	spec.Dir, spec.RunID = dir.Path, -task.ID(aloneCount.Add(1))
	spec.Plan.Limits.TimeoutSeconds = int(timeout / time.Second)
	return p.Run(ctx, spec, sink, func(r *Run) (Conversation, error) { return Conversation{Reader: read(r)}, nil })
}

// exitReader reads a program of which only exit code 0 is expected.
type exitReader struct{ *Run }

func (r exitReader) Verdict(e Exit) Outcome {
	if abnormal := r.Abnormal(e); abnormal != nil {
		return *abnormal
	}
	return Completed("")
}

// textSink is a sink that passes on the output.
type textSink func(string)

func (textSink) Started(Process) error { return nil }

func (s textSink) Event(e Event) {
	if text := strings.TrimSpace(e.Text); text != "" {
		s(text)
	}
}
