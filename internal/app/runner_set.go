package app

import (
	"maps"
	"slices"

	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// runnerSet is everything that a configuration says about runners. It is
// created as a whole and never changed, so that several lookups in one set are
// consistent.
type runnerSet struct {
	config  *config.Config
	started map[string]supervise.Runner // runners that this server starts, by name
	byName  map[string]service.Runner
	agents  *agentfile.Options
}

// newRunnerSet creates the runners of a configuration. It returns an error if
// one of them cannot be created.
func newRunnerSet(c *config.Config, getenv func(string) string) (*runnerSet, error) {
	list, err := newBuiltins(c, getenv)
	if err != nil {
		return nil, err
	}
	maps.Copy(list, Runners(c))
	opt := AgentOptions(c)
	s := &runnerSet{config: c, started: list, byName: map[string]service.Runner{}, agents: &opt}
	for _, name := range s.names() {
		s.byName[name] = s.describe(name)
	}
	return s, nil
}

// names lists the configured runners, and the built-in one.
func (s *runnerSet) names() []string {
	names := slices.Sorted(maps.Keys(s.config.Runners))
	if _, ok := s.config.Runners[builtinName]; !ok {
		names = append(names, builtinName)
		slices.Sort(names)
	}
	return names
}

// describe returns a runner's description for the service.
func (s *runnerSet) describe(name string) service.Runner {
	r, kind := s.config.Runners[name], runnerKind(s.config, name)
	out := service.Runner{
		RunnerTraits: task.RunnerTraits{
			Kind: kind.Name, Receiver: kind.Place == runner.Receiver, Steers: kind.Steers, MCP: kind.MCP,
		},
		Worker: kind.Place == runner.Worker, Labels: r.Labels, Converses: kind.Converses, Workspace: r.Workspace,
	}
	if known, ok := s.started[name]; ok {
		out.Executor = known
	}
	if provider, problem := runnerProvider(s.config, name); kind.Models && problem == "" {
		out.Model = defaultModel(s.config.Providers[provider])
	}
	return out
}

// sources lists the runners to probe, by name.
func (s *runnerSet) sources() []runner.Source {
	var list []runner.Source
	for _, name := range s.names() {
		list = append(list, s.source(name))
	}
	return list
}

func (s *runnerSet) source(name string) runner.Source {
	kind, settings := runnerKind(s.config, name), runnerSettings(s.config, name)
	out := runner.Source{Name: name, Kind: kind.Name, Runner: s.started[name]}
	if out.Runner == nil && kind.New != nil {
		out.Runner = kind.New(settings) // it has no provider, and reports that
	}
	if kind.Fix != nil {
		out.Remedy = kind.Fix(settings)
	}
	if kind.Lack == task.LacksProgram {
		out.Argv = settings.Argv
	}
	return out
}

// enforcementGap describes what an agent with these tools could do beyond them
// under a runner, as sentences; "" if the runner enforces them, or is not
// started here.
func (s *runnerSet) enforcementGap(name string, tools []string) string {
	return EnforcementGap(s.config, s.started, name, tools)
}

// enforces returns the requirements of a plan, and which of them its runner
// enforces.
func (s *runnerSet) enforces(plan task.Spec) []task.Enforcement {
	return runner.Enforces(s.started[plan.Runner], plan)
}
