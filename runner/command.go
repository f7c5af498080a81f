package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"taskyard/runner/scratch"
	"taskyard/task"
)

// Command runs any program: the prompt goes to its stdin, what it prints is
// the transcript and the result (see protocol). Exit code 0 is success.
type Command struct {
	Argv        []string          // the program and its arguments; never the prompt
	Env         map[string]string // set for the program; names that begin with TASKYARD_ are passed over
	VersionArgs []string          // arguments that make it print its version; nil: it is not asked
	Grace       time.Duration     // between TERM and KILL; 0: 5 s
	Shim        []string          // the command line of the shim; nil: this binary and ShimArg

	confine Confinement // of a probe for the version of a confined program
}

var _ Runner = (*Command)(nil)

var commandKind = Kind{
	Name: "command",
	New:  func(s Settings) Runner { return &Command{Argv: s.Argv, Env: s.Env} },
	Capabilities: Probe{
		Tools:   "The program is told the agent's tools and not held to them.",
		Shell:   "not confined: it can do all that the account of the server can",
		Network: "open",
	},
}

// Probe looks for the program, and asks it for its version if it can.
func (c *Command) Probe(ctx context.Context) Probe {
	p := probeOf("command")
	path, err := lookPath(c.Argv)
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Installed, p.Path = true, path
	if len(c.VersionArgs) > 0 {
		p.Version, p.Problem = c.version(ctx, path)
	}
	return p
}

// probes numbers the questions for a version.
var probes atomic.Int64

// version returns the first line that the program prints, at most 200
// characters, within 10 s.
func (c *Command) version(ctx context.Context, path string) (version, problem string) {
	dir, err := scratch.New("probe")
	if err != nil {
		return "", err.Error()
	}
	defer func() { _ = dir.Remove(context.WithoutCancel(ctx)) }()
	var spec Spec
	spec.Dir = dir.Path
	spec.RunID = -task.ID(probes.Add(1)) // the end of one probe must not end the processes of another
	spec.Plan.Limits.TimeoutSeconds = 10
	probe := *c
	probe.Argv = append([]string{path}, c.VersionArgs...)
	probe.Grace = min(c.grace(), time.Second)
	out, err := probe.Run(ctx, spec, nobody{})
	if err != nil || out.Status != task.RunCompleted {
		return "", "it does not tell its version: " + out.Reason
	}
	line, _, _ := strings.Cut(out.Summary, "\n")
	return cutChars(strings.TrimSpace(line), 200), ""
}

// nobody is a sink that does not care.
type nobody struct{}

func (nobody) Started(Process) error { return nil }
func (nobody) Event(Event)           {}

func (c *Command) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return defaultGrace
}

// lookPath returns the absolute path of the program.
func lookPath(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New("no program is configured")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", fmt.Errorf("the program %s cannot be started: %w", argv[0], errors.Unwrap(err))
	}
	return filepath.Abs(path)
}

// Run starts the program and returns when its whole process tree is gone.
func (c *Command) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	st := newStopper()
	return runProgram(ctx, launch{Argv: c.Argv, Env: c.Env, Grace: c.grace(), Shim: c.Shim, Confine: c.confine},
		spec, sink, st, func() (reader, program, error) {
			return newProtocol(spec, sink, st), program{Input: prompt(spec.Plan)}, nil
		})
}

// prompt is what the program reads: system prompt, blank line, prompt.
func prompt(plan task.Spec) string {
	text := plan.Prompt + "\n"
	if plan.SystemPrompt != "" {
		text = plan.SystemPrompt + "\n\n" + text
	}
	return text
}
