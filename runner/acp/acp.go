package acp

import (
	"context"
	"slices"
	"strings"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner runs any agent that speaks the Agent Client Protocol on its stdin and
// stdout, such as `gemini --acp` or `opencode acp`. It cannot restrict such an
// agent to its tools: the agent asks before a call only if it chooses to.
type Runner struct {
	supervise.Program
	Bridge       []string // command line of an MCP server on stdio, for agents without MCP over HTTP; nil: none
	AcceptWeaker bool     // run agents even if their tools cannot be restricted
}

var _ supervise.Confiner = (*Runner)(nil)

// Capabilities is what is known about this kind before this machine is probed.
// A probe adds Shell.
var Capabilities = supervise.Probe{
	Kind:    "acp",
	Tools:   "The agent receives the list of tools; it asks before a call only when it chooses to.",
	Shell:   "confined by landlock, where this machine has it",
	Network: "open",
}

// Probe finds the program and asks it for its version.
func (a *Runner) Probe(ctx context.Context) supervise.Probe {
	program := a.Program
	program.Argv = program.Argv[:min(len(program.Argv), 1)]
	p := program.Probe(ctx, Capabilities, "--version")
	p.Shell = a.Confine.Describe("it reads what the account of the server may")
	return p
}

// EnforcementGap names the tools that such an agent has in addition to those of
// its definition.
func (a *Runner) EnforcementGap(tools []string) (string, bool) {
	beyond := enforce.Missing(tools, "read", "create", "edit", "bash", "fetch")
	if slices.Contains(tools, "bash") {
		beyond = enforce.Missing(tools, "fetch")
	}
	sentence := ""
	if len(beyond) > 0 {
		sentence = "The agent asks before a call only when it wants to: it could also use " + strings.Join(beyond, ", ") + "."
	}
	if ok, why := a.Confine.Works(); !ok {
		sentence = strings.TrimSpace(sentence + " It could write wherever the account of the server may (" + why + ").")
	}
	return sentence, sentence != "" && !a.AcceptWeaker
}

// Enforcement returns which parts of a plan are enforced here.
func (a *Runner) Enforcement(task.Spec) enforce.Levels {
	return enforce.Levels{
		Tool:  enforce.SameForAll(enforce.No("the agent asks before a call only when it wants to")),
		Files: a.Confine.Files(), Network: enforce.No("its network is open"),
		Time: enforce.Yes(enforce.TreeEnds), Tokens: enforce.Partly("only if the program reports its use"),
		Turns: enforce.No("the protocol does not tell turns"), Cost: enforce.Partly("only if the program reports its cost"),
	}
}

// EnforcesReadOnly reports whether the agent's file access is confined.
func (a *Runner) EnforcesReadOnly() bool {
	ok, _ := a.Confine.Works()
	return ok
}

// Run starts the agent, gives it one prompt and returns when all of its
// processes have ended.
func (a *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	if gap, refused := a.EnforcementGap(spec.Plan.Tools); refused {
		return supervise.Permanent(task.PhaseError, gap+" "+enforce.AcceptWeaker), nil
	}
	conn := newConnection(ctx, a.Bridge)
	defer conn.permits.Wait() // no goroutine may outlive the run
	defer conn.stopAsking()
	return a.Program.Run(ctx, spec, sink, func(r *supervise.Run) (supervise.Conversation, error) {
		conn.read(r)
		return supervise.Conversation{Reader: conn}, nil
	})
}
