package runner

import (
	"context"
	"slices"
	"strings"
)

// ACP runs any agent that speaks the Agent Client Protocol on its stdin and
// stdout, such as `gemini --acp` or `opencode acp`. It cannot hold such an
// agent to its tools: it is asked before a call only when the agent wants to.
type ACP struct {
	Program
	Bridge       []string // command line of an MCP server on stdio for agents that speak none over HTTP; nil: they get none
	AcceptWeaker bool     // run agents that are not to have every tool
}

var _ Confiner = (*ACP)(nil)

var acpKind = Kind{
	Name: "acp",
	New: func(s Settings) Runner {
		return &ACP{Program: Program{Argv: s.Argv, Env: s.Env, Confine: s.Confine}, Bridge: s.Bridge, AcceptWeaker: s.AcceptWeaker}
	},
	Missing: missingProgram,
	Capabilities: Probe{ // a probe finds out more about Shell
		Tools:   "The agent is told its tools; it asks before a call only when it wants to.",
		Shell:   "confined by landlock, where this machine has it",
		Network: "open",
	},
}

// Probe looks for the program and asks it for its version.
func (a *ACP) Probe(ctx context.Context) Probe {
	p := a.probe(ctx, "acp")
	p.Shell = a.Confine.words("it reads what the account of the server may")
	return p
}

// EnforcementGap names the tools that such an agent has besides those of its definition.
func (a *ACP) EnforcementGap(tools []string) (string, bool) {
	beyond := lacks(tools, "read", "create", "edit", "bash", "fetch")
	if slices.Contains(tools, "bash") {
		beyond = lacks(tools, "fetch")
	}
	sentence := ""
	if len(beyond) > 0 {
		sentence = "The agent asks before a call only when it wants to: it could also use " + strings.Join(beyond, ", ") + "."
	}
	if ok, why := a.Confine.works(); !ok {
		sentence = strings.TrimSpace(sentence + " It could write wherever the account of the server may (" + why + ").")
	}
	return sentence, sentence != "" && !a.AcceptWeaker
}

// Run starts the agent, gives it one prompt and returns when nothing of it is
// left.
func (a *ACP) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	if gap, refused := a.EnforcementGap(spec.Plan.Tools); refused {
		return permanently(gap + " " + acceptWeaker), nil
	}
	asking, stopAsking := context.WithCancel(ctx)
	t := &acpTalk{spec: spec, bridge: a.Bridge, grace: a.Grace, sink: sink, asking: asking, stopAsking: stopAsking}
	defer t.permits.Wait() // nothing of a run outlives it
	defer stopAsking()
	return session{
		program: a.Program, args: func() ([]string, error) { return nil, nil }, env: map[string]string{},
		speak: func(p *protocol, work string) reader { return t.begin(p, work) },
	}.run(ctx, spec, sink)
}
