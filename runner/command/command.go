package command

import (
	"context"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner runs any program: the prompt goes to its stdin; its output is the
// transcript and the result (see protocol). Exit code 0 is success.
type Runner struct {
	supervise.Program
	VersionArgs []string // arguments that make it print its version; nil: none
}

var _ supervise.Confiner = (*Runner)(nil)

// Capabilities is what is known about this kind before this machine is probed.
var Capabilities = supervise.Probe{
	Kind:    "command",
	Tools:   "The program receives the list of tools; Taskyard does not enforce it.",
	Shell:   "not confined: it can do anything the server's account can",
	Network: "open",
}

// Probe finds the program, and asks it for its version if it has arguments for
// that.
func (c *Runner) Probe(ctx context.Context) supervise.Probe {
	return c.Program.Probe(ctx, Capabilities, c.VersionArgs...)
}

// EnforcementGap reports that a program's tools cannot be restricted.
func (c *Runner) EnforcementGap([]string) (string, bool) {
	return "It starts a program, which receives the list of tools; Taskyard does not enforce it: " +
		"the program can do anything the server's account can.", false
}

// Enforcement returns what is enforced for a program that is not confined.
func (c *Runner) Enforcement(task.Spec) enforce.Levels {
	own := enforce.No(enforce.OwnAccount)
	return enforce.Levels{
		Tool: enforce.SameForAll(own), Files: own, Network: own,
		Time: enforce.Yes(enforce.TreeEnds), Tokens: enforce.Partly(enforce.ReportsUse),
		Turns: enforce.No("the program does not report its turns"), Cost: enforce.Partly(enforce.ReportsUse),
	}
}

// Run starts the program and returns when its whole process tree has ended.
func (c *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	return c.Program.Run(ctx, spec, sink, func(r *supervise.Run) (supervise.Conversation, error) {
		return supervise.Conversation{Reader: newProtocol(r), Input: supervise.Prompt(spec.Plan)}, nil
	})
}
