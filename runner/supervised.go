package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskyard/task"
)

// launch is what all kinds have that start a program.
type launch struct {
	Argv  []string // the program and its first arguments
	Env   map[string]string
	Grace time.Duration
	Shim  []string

	Confine Confinement
}

// reader reads what the program of one kind says, and says how it ended.
type reader interface {
	handler
	log() *transcript
	// verdict is the outcome of a program that ended by itself.
	verdict(report) Outcome
	// end is called with the outcome, before the transcript is closed.
	end(*Outcome)
}

// runProgram starts a program for a run and returns when its whole process tree
// is gone. prepare is called when the folders of the run exist: it returns how
// to talk to the program; of the program it may set Input, and Argv to what
// follows the launch's.
func runProgram(
	ctx context.Context, l launch, spec Spec, sink Sink, st *stopper, prepare func() (reader, program, error),
) (Outcome, error) {
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	path, err := lookPath(l.Argv)
	if err != nil {
		return permanently(err.Error()), nil
	}
	work, err := makeFolders(ctx, spec)
	if errors.Is(err, errWorkspace) {
		return permanently(err.Error()), nil
	}
	if err != nil {
		return failed(task.PhaseError, "The folder of the run could not be made"), err
	}
	r, p, err := prepare()
	if err != nil {
		return failed(task.PhaseError, "The run could not be prepared"), err
	}
	p.RunID, p.Env, p.Dir, p.Limits, p.Grace, p.Shim = spec.RunID, environment(spec, l.Env), work, spec.Plan.Limits, l.Grace, l.Shim
	p.Waits = spec.Waits
	p.Rules = l.Confine.rules(spec, work, l.Env)
	p.Argv = append(append([]string{path}, l.Argv[1:]...), p.Argv...)
	end, err := supervise(ctx, p, st, sink.Started, r)
	out := outcome(l.Argv[0], end, err, r)
	finish(&out, end, err, r)
	if isStart(err) {
		err = nil
	}
	return out, err
}

// finish writes the last lines of the transcript.
func finish(out *Outcome, end ending, err error, r reader) {
	r.end(out)
	t := r.log()
	if n := end.Report.Leftover + end.Swept; n > 0 && err == nil {
		t.out.note(fmt.Sprintf("The program left processes running, %d in all. They were ended.", n))
	}
	if n := end.Report.Survivors; n > 0 && err == nil {
		t.out.note(fmt.Sprintf("%d processes could not be killed and may still run.", n))
	}
	t.out.Close()
}

// outcome is the verdict, with what was used.
func outcome(name string, end ending, err error, r reader) Outcome {
	var out Outcome
	switch {
	case isStart(err):
		out = permanently(fmt.Sprintf("The program %s cannot be started: %v", name, err))
	case end.Report.Over != "":
		out = failed(task.PhaseError, "It had "+end.Report.Over)
	case end.Stop != nil:
		out = *end.Stop
	case err != nil:
		out = failed(task.PhaseError, "The program could not be supervised")
	default:
		out = r.verdict(end.Report)
	}
	t := r.log()
	if out.Status == task.RunFailed {
		out.Reason = cutChars(clean(t.red.Text(out.Reason)), task.MaxReason)
	}
	out.Usage = t.usage
	return out
}
