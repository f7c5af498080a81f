package runner

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"taskyard/runner/scratch"
	"taskyard/task"
)

// RunOwn runs a program for the server itself, not for a task: in a folder of its
// own, with the environment of the server but for Taskyard's variables. say gets
// each line that it prints. It returns when the whole process tree has ended.
// Error: the program did not start, did not exit with 0, or took longer than
// timeout (whole seconds).
func RunOwn(ctx context.Context, argv []string, timeout time.Duration, say func(line string)) error {
	dir, err := scratch.New("own")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove(context.WithoutCancel(ctx)) }()
	c := &Command{Argv: argv, Env: map[string]string{}}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		c.Env[name] = value
	}
	var spec Spec
	spec.Dir = dir.Path
	spec.RunID = -task.ID(probes.Add(1))
	spec.Plan.Limits.TimeoutSeconds = int(timeout / time.Second)
	st := newStopper()
	out, err := runProgram(ctx, launch{Argv: c.Argv, Env: c.Env, Grace: c.grace()}, spec, sayer(say), st, func() (reader, program, error) {
		return ownReader{newProtocol(spec, sayer(say), st)}, program{}, nil
	})
	if err == nil && out.Status != task.RunCompleted {
		err = errors.New(out.Reason)
	}
	return err
}

// ownReader reads a program of which nothing is expected but exit code 0.
type ownReader struct{ *protocol }

func (r ownReader) verdict(rep report) Outcome {
	if !crashed(rep) && rep.Code == 0 {
		return Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded}
	}
	return r.protocol.verdict(rep)
}

// sayer is a sink that passes on what is printed.
type sayer func(string)

func (sayer) Started(Process) error { return nil }

func (s sayer) Event(e Event) {
	if text := strings.TrimSpace(e.Text); text != "" {
		s(text)
	}
}
