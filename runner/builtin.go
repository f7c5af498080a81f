package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskyard/runner/model"
	"taskyard/task"
)

// Builtin is Taskyard's own agent: a loop in this process that asks a model
// and runs the tools that it calls. Nothing but the tool bash starts a program.
type Builtin struct {
	Provider     string // its name in the configuration
	Model        model.Model
	Problem      string   // why nothing can be started, for people; "" when something can
	Models       []string // those that may be asked for; empty: any
	DefaultModel string   // where neither task nor agent names one
	Prices       map[string]Price
	AcceptWeaker bool // run although a limit of cost cannot be kept

	// Tools opens the tools for files and programs in the working folder of a
	// run; nil: there are none. Its error blames the workspace.
	Tools func(spec Spec, work string) (Toolbox, error)
	// Shell describes how bash is confined on this machine; nil: there is
	// no bash.
	Shell func() string
}

var _ Runner = (*Builtin)(nil)

var builtinKind = Kind{
	Name: "builtin", Models: true,
	New: func(s Settings) Runner {
		p := s.Provider
		return &Builtin{
			Provider: p.Name, Model: p.Model, Problem: cmp.Or(s.NoProvider, p.Problem), Models: p.Models, DefaultModel: p.DefaultModel,
			Prices: p.Prices, AcceptWeaker: s.AcceptWeaker, Tools: OpenTools(s.AcceptWeaker), Shell: ShellLevel(s.AcceptWeaker),
		}
	},
	Missing: func(s Settings) string { return s.NoProvider },
	Fix: func(s Settings) string {
		return "Add a section [providers.NAME] with api, base_url and api_key_env to taskyard.toml, " +
			"or name one of several by provider in [runners." + s.Name + "], and start the server again."
	},
	Capabilities: Probe{
		EnforcesTools: true,
		Tools:         "Each call is checked against the agent's list when it is made.",
		Shell:         "there is no shell",
		Network:       "bash: closed, unless the definition says network: true; fetch: public addresses alone",
	},
}

// Toolbox holds the tools of one run. Call is made one at a time.
type Toolbox interface {
	// Declared returns those of the named tools that there are.
	Declared(names []string) []model.Tool
	Call(ctx context.Context, name string, args json.RawMessage) Answer
	Close() error
}

// Answer is what a tool call brought.
type Answer struct {
	Text    string
	IsError bool
	Denied  bool     // the tool is not the agent's to use
	Files   []string // that it changed, below the workspace
}

// Price is what a million tokens cost, in US dollars.
type Price struct{ In, Out, Cached float64 }

// storing is what writing into a provider's cache costs, times the price of
// reading without one.
const storing = 1.25

func (p Price) of(u model.Usage) float64 {
	plain := float64(max(0, u.In-u.Cached-u.Stored))
	return (plain*p.In + float64(u.Cached)*p.Cached + float64(u.Stored)*p.In*storing + float64(u.Out)*p.Out) / 1e6
}

// Probe returns which provider it is. It asks nobody.
func (b *Builtin) Probe(context.Context) Probe {
	v := ""
	if b.Provider != "" {
		v = "provider " + b.Provider
	}
	if b.DefaultModel != "" {
		v += ", model " + b.DefaultModel
	}
	p := probeOf("builtin")
	p.Installed, p.Version, p.Problem = b.Problem == "", v, b.Problem
	if b.Shell != nil {
		p.Shell = b.Shell()
	}
	return p
}

// refuse returns why a plan cannot be run, or "".
func (b *Builtin) refuse(plan task.Spec, name string) string {
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

// Run carries on the conversation until the model ends it, and returns when
// nothing of it is left.
func (b *Builtin) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	if b.Problem != "" {
		out := permanently(b.Problem)
		out.Phase = task.PhaseAuth
		return out, nil
	}
	name := cmp.Or(spec.Plan.Model, b.DefaultModel)
	if why := b.refuse(spec.Plan, name); why != "" {
		return permanently(why), nil
	}
	work, err := makeFolders(ctx, spec)
	if errors.Is(err, errWorkspace) {
		return permanently(err.Error()), nil
	}
	if err != nil {
		return failed(task.PhaseError, "The folder of the run could not be made"), err
	}
	s := newModelLoop(b, spec, sink, name)
	if b.Tools != nil {
		if s.tools.box, err = b.Tools(spec, work); err != nil {
			return permanently(err.Error()), nil
		}
		defer func() { _ = s.tools.box.Close() }()
	}
	if err := sink.Started(Process{}); err != nil { // there is no process but ours
		return failed(task.PhaseError, "The start of the run could not be recorded"), err
	}
	out := s.supervised(ctx)
	s.out.Close()
	return out, s.trouble
}

// supervised runs the loop under its limits of time.
func (s *modelLoop) supervised(ctx context.Context) Outcome {
	within, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(within, cancel)
	}()
	go s.clock.follow(s.spec.Waits, within.Done())
	out := s.run(within)
	cancel(nil)
	<-ended
	s.tools.server.close()
	if out.Status == task.RunFailed {
		out.Reason = cutChars(clean(s.red.Text(out.Reason)), task.MaxReason)
	}
	out.Usage, out.Artifacts = s.usage, s.files
	return out
}

// watch ends the conversation when a limit of time is reached.
func (s *modelLoop) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	limits := s.spec.Plan.Limits
	wall, idle := timer(limits.Timeout(), limits.TimeoutSeconds), timer(limits.IdleTimeout(), limits.IdleTimeoutSeconds)
	for {
		select {
		case <-ctx.Done():
			return
		case <-wall:
			if left, over := s.clock.left(limits.Timeout()); !over {
				wall = time.After(left)
				continue
			}
			s.stop.Stop(failed(task.PhaseTimeout, fmt.Sprintf("It ran longer than its time limit of %d s", limits.TimeoutSeconds)))
			cancel(errLimit)
		case <-idle:
			if left := limits.IdleTimeout() - s.clock.idle(); left > 0 {
				idle = timer(left, 1)
				continue
			}
			s.stop.Stop(failed(task.PhaseIdle, fmt.Sprintf("The model said nothing for %d s", limits.IdleTimeoutSeconds)))
			cancel(errLimit)
		}
	}
}

var errLimit = errors.New("a limit of time was reached")

// cut is the outcome of a conversation whose context ended.
func (s *modelLoop) cut(ctx context.Context) Outcome {
	if o := s.stop.why(); o != nil {
		return *o
	}
	return canceled(context.Cause(ctx))
}
