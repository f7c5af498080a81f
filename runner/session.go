package runner

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Program is how the program of a runner is started.
type Program struct {
	Argv  []string          // the program and its first arguments; never the prompt
	Env   map[string]string // set for the program; names that begin with TASKYARD_ are passed over
	Grace time.Duration     // between the steps of a stop; 0: 5 s
	Shim  []string          // the command line of the shim; nil: this binary and ShimArg

	Confine Confinement // of the program and all that it starts
}

// probe looks for the program and asks it for its version.
func (p Program) probe(ctx context.Context, kind string) Probe {
	c := Command{Argv: p.Argv, Env: p.Env, VersionArgs: []string{"--version"}, Grace: p.Grace, Shim: p.Shim, confine: p.Confine}
	if len(c.Argv) > 1 {
		c.Argv = c.Argv[:1]
	}
	return c.Probe(ctx).as(probeOf(kind))
}

// session is one run of an agent's program.
type session struct {
	program Program
	args    func() ([]string, error) // after those of the program; called when the folders of the run exist
	env     map[string]string
	input   string
	speak   func(p *protocol, work string) reader
}

// run starts the program and returns when its whole process tree is gone.
func (s session) run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	vars := maps.Clone(s.env)
	maps.Copy(vars, s.program.Env)
	spec.Secrets = append(slices.Clone(spec.Secrets), secretsIn(environment(spec, vars))...)
	grace := s.program.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	st := newStopper()
	return runProgram(ctx, launch{Argv: s.program.Argv, Env: vars, Grace: grace, Shim: s.program.Shim, Confine: s.program.Confine},
		spec, sink, st, func() (reader, program, error) {
			args, err := s.args()
			return s.speak(newProtocol(spec, sink, st), workOf(spec)), program{Argv: args, Input: s.input}, err
		})
}
