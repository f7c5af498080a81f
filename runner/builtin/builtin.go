package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner is Taskyard's own agent: a loop in this process that calls a model and
// runs the tools that it requests. Only the tool bash starts programs.
type Runner struct {
	Provider     string // its name in the configuration
	Model        model.Model
	Problem      string   // why no run can start, for people; "" if runs can start
	Models       []string // allowed models; empty: any
	DefaultModel string   // used if neither task nor agent names a model
	Prices       map[string]Price
	AcceptWeaker bool // run even if a cost limit cannot be enforced

	// Tools opens the tools for files and programs in the working folder of a
	// run; nil: there are none. Its errors are attributed to the workspace.
	Tools func(spec supervise.Spec, work string) (Toolbox, error)
	// Shell describes how bash is confined on this machine; nil: there is
	// no bash.
	Shell func() string
}

var _ supervise.Runner = (*Runner)(nil)

// Capabilities is what is known about this kind before this machine is probed.
// A probe adds Shell.
var Capabilities = supervise.Probe{
	Kind:          "builtin",
	EnforcesTools: true,
	Tools:         "Each call is checked against the agent's list when it is made.",
	Shell:         "there is no shell",
	Network:       "bash: closed, unless the definition says network: true; fetch: only public addresses",
}

// Toolbox holds the tools of one run. Calls are sequential.
type Toolbox interface {
	// Declared returns those of the named tools that exist.
	Declared(names []string) []tools.Tool
	Call(ctx context.Context, name string, args json.RawMessage) tools.Result
	Close() error
}

// Price is the price of a million tokens, in US dollars.
type Price struct{ In, Out, Cached float64 }

// storing is the price of writing to a provider's cache, relative to the price
// of uncached input.
const storing = 1.25

func (p Price) cost(u model.Usage) float64 {
	plain := float64(max(0, u.In-u.Cached-u.Stored))
	return (plain*p.In + float64(u.Cached)*p.Cached + float64(u.Stored)*p.In*storing + float64(u.Out)*p.Out) / 1e6
}

// Probe returns the provider. It makes no request.
func (b *Runner) Probe(context.Context) supervise.Probe {
	v := ""
	if b.Provider != "" {
		v = "provider " + b.Provider
	}
	if b.DefaultModel != "" {
		v += ", model " + b.DefaultModel
	}
	p := Capabilities
	p.Installed, p.Version, p.Problem = b.Problem == "", v, b.Problem
	if b.Shell != nil {
		p.Shell = b.Shell()
	}
	return p
}

// refuse returns why a plan cannot be run, or "".
func (b *Runner) refuse(plan task.Spec, name string) string {
	_, priced := b.Prices[name]
	switch {
	case name == "":
		return "No model is named: give one in the agent's definition, or default_model in [providers." + b.Provider + "]"
	case len(b.Models) > 0 && !slices.Contains(b.Models, name):
		return fmt.Sprintf("The provider %s has no model %s: its models are %s", b.Provider, name, strings.Join(b.Models, ", "))
	case plan.Limits.MaxCostUSD > 0 && !priced && !b.AcceptWeaker:
		return fmt.Sprintf("The limit of cost cannot be kept: price_per_mtok in [providers.%s] has no price of %s", b.Provider, name)
	}
	return ""
}

// Run continues the conversation until the model ends it, and returns when all
// of its processes have ended.
func (b *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	if b.Problem != "" {
		return supervise.Permanent(task.PhaseAuth, b.Problem), nil
	}
	name := cmp.Or(spec.Plan.Model, b.DefaultModel)
	if why := b.refuse(spec.Plan, name); why != "" {
		return supervise.Permanent(task.PhaseError, why), nil
	}
	if refused, err := supervise.MakeFolders(ctx, spec); refused != nil {
		return *refused, err
	}
	s := newModelLoop(b, spec, sink, name)
	if b.Tools != nil {
		var err error
		if s.tools.box, err = b.Tools(spec, s.Work); err != nil {
			return supervise.Permanent(task.PhaseError, err.Error()), nil
		}
		defer func() { _ = s.tools.box.Close() }()
	}
	defer s.tools.server.close()
	out, err := s.Watch(ctx, "The model said nothing", nil, s.run)
	out.Artifacts = s.files
	return out, errors.Join(s.trouble, err)
}

// Enforcement returns which parts of a plan are enforced here.
func (b *Runner) Enforcement(plan task.Spec) enforce.Levels {
	h := enforce.Levels{
		Tool:    enforce.SameForAll(enforce.Yes("each call is checked when it is made")),
		Files:   enforce.Yes("tools open only files in the workspace"),
		Network: enforce.Yes("fetch reaches only public addresses, and only where it is allowed"),
		Time:    enforce.Yes("the run is ended"), Tokens: enforce.Yes("counted with each reply of the model"),
		Turns: enforce.Yes("counted"), Cost: enforce.Yes("by the price table"),
	}
	if slices.Contains(plan.Tools, "bash") && b.Shell != nil {
		how := b.Shell()
		closed, _, _ := strings.Cut(how, "; with network")
		h.Files, h.Network = enforce.If(!strings.HasPrefix(how, "bash: none"), how),
			enforce.If(strings.Contains(closed, "no network") || strings.Contains(closed, "off"), how)
	}
	return h
}

// EnforcesReadOnly reports true: tools that write are refused.
func (b *Runner) EnforcesReadOnly() bool { return true }
