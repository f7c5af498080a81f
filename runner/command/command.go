package command

import (
	"context"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner runs any program: the prompt goes to its stdin, what it prints is
// the transcript and the result (see protocol). Exit code 0 is success.
type Runner struct {
	supervise.Program
	VersionArgs []string // arguments that make it print its version; nil: it is not asked
}

var _ supervise.Confiner = (*Runner)(nil)

// Capabilities is what is known of the kind, before this machine is looked at.
var Capabilities = supervise.Probe{
	Kind:    "command",
	Tools:   "The program receives the list of tools; Taskyard does not enforce it.",
	Shell:   "not confined: it can do anything the server's account can",
	Network: "open",
}

// Probe looks for the program, and asks it for its version if it can.
func (c *Runner) Probe(ctx context.Context) supervise.Probe {
	return c.Program.Probe(ctx, Capabilities, c.VersionArgs...)
}

// EnforcementGap says that nothing holds a program to its tools.
func (c *Runner) EnforcementGap([]string) (string, bool) {
	return "It starts a program, which receives the list of tools; Taskyard does not enforce it: " +
		"the program can do anything the server's account can.", false
}

// Enforcement says what is enforced of a program that is not confined.
func (c *Runner) Enforcement(task.Spec) enforce.Levels {
	own := enforce.No(enforce.OwnAccount)
	return enforce.Levels{
		Tool: enforce.Every(own), Files: own, Network: own,
		Time: enforce.Yes(enforce.TreeEnds), Tokens: enforce.Partly(enforce.ReportsUse),
		Turns: enforce.No("the program does not report its turns"), Cost: enforce.Partly(enforce.ReportsUse),
	}
}

// Run starts the program and returns when its whole process tree is gone.
func (c *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	return c.Program.Run(ctx, spec, sink, func(r *supervise.Run) (supervise.Talk, error) {
		return supervise.Talk{Reader: newProtocol(r), Input: supervise.Prompt(spec.Plan)}, nil
	})
}
