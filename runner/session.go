package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"taskyard/task"
)

// Program is how the program of a runner is started.
type Program struct {
	Argv  []string          // the program and its first arguments; never the prompt
	Env   map[string]string // set for the program; names that begin with TASKYARD_ are passed over
	Grace time.Duration     // between the steps of a stop; 0: 5 s
	Shim  []string          // the command line of the shim; nil: this binary and ShimArg
}

// probe looks for the program and asks it for its version.
func (p Program) probe(ctx context.Context, kind string) Probe {
	c := Command{Argv: p.Argv, Env: p.Env, VersionArgs: []string{"--version"}, Grace: p.Grace, Shim: p.Shim}
	if len(c.Argv) > 1 {
		c.Argv = c.Argv[:1]
	}
	answer := c.Probe(ctx)
	answer.Kind = kind
	return answer
}

// dialect is the protocol of one run of an agent's program.
type dialect interface {
	handler
	base() *protocol
	// verdict says how the program ended, unless it was stopped.
	verdict(report) Outcome
}

// session is one run of an agent's program.
type session struct {
	program Program
	args    []string // after those of the program
	env     map[string]string
	input   string
	talk    *talk
	speak   func(p *protocol, work string, st *stopper) dialect
}

// run starts the program and returns when its whole process tree is gone.
func (s session) run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	path, err := lookPath(s.program.Argv)
	if err != nil {
		return permanently(err.Error()), nil
	}
	work, err := makeFolders(spec)
	if errors.Is(err, errWorkspace) {
		return permanently(err.Error()), nil
	}
	if err != nil {
		return failed(task.PhaseError, "The folder of the run could not be made"), err
	}
	vars := maps.Clone(s.env)
	maps.Copy(vars, s.program.Env)
	env := environment(spec, vars)
	spec.Secrets = append(slices.Clone(spec.Secrets), secretsIn(env)...)
	st := newStopper()
	d := s.speak(newProtocol(spec, sink, st), work, st)
	grace := s.program.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	end, err := supervise(ctx, program{
		RunID: spec.RunID, Argv: slices.Concat([]string{path}, s.program.Argv[1:], s.args), Env: env, Dir: work,
		Input: s.input, Talk: s.talk, Limits: spec.Plan.Limits, Grace: grace, Shim: s.program.Shim,
	}, st, sink.Started, d)
	out := ended(path, d, end, err)
	tellLeftovers(d.base().out, end, err)
	d.base().out.Close()
	if isStart(err) {
		err = nil
	}
	return out, err
}

// ended is the verdict, with what was used.
func ended(path string, d dialect, end ending, err error) (out Outcome) {
	switch {
	case isStart(err):
		out = permanently(fmt.Sprintf("The program %s cannot be started: %v", path, err))
	case end.Stop != nil:
		out = *end.Stop
	case err != nil:
		out = failed(task.PhaseError, "The program could not be supervised")
	default:
		out = d.verdict(end.Report)
	}
	p := d.base()
	if out.Status == task.RunFailed {
		out.Reason = cutChars(clean(p.red.text(out.Reason)), task.MaxReason)
	}
	out.Usage = p.usage
	return out
}

// tellLeftovers notes processes that the program left behind.
func tellLeftovers(out *emitter, end ending, err error) {
	if err != nil {
		return
	}
	if n := end.Report.Leftover + end.Swept; n > 0 {
		out.note(fmt.Sprintf("The program left processes running, %d in all. They were ended.", n))
	}
	if n := end.Report.Survivors; n > 0 {
		out.note(fmt.Sprintf("%d processes could not be killed and may still run.", n))
	}
}
