package app

import (
	"os"
	"path/filepath"

	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// runnerKind returns the kind of a runner. The built-in one needs no
// configuration.
func runnerKind(c *config.Config, name string) runner.Kind {
	r, configured := c.Runners[name]
	if !configured && name == builtinName {
		r.Kind = builtinName
	}
	kind, _ := runner.FindKind(r.Kind)
	return kind
}

// runnerSettings returns the configuration of a runner, except its provider.
func runnerSettings(c *config.Config, name string) runner.Settings {
	r, kind := c.Runners[name], runnerKind(c, name)
	s := runner.Settings{
		Name: name, Argv: r.Command, Env: r.Env, AcceptWeaker: r.AcceptWeaker, Confine: newConfinement(c, r), Network: r.Network,
		Bridge: mcpBridge(), URL: r.URL, SecretEnv: r.SecretEnv, AllowPrivate: r.AllowPrivate, Callback: c.PublicURL,
	}
	if len(s.Argv) == 0 && kind.Program != "" {
		s.Argv = []string{kind.Program}
	}
	if kind.Models {
		_, s.NoProvider = runnerProvider(c, name)
	}
	return s
}

// Runners creates the runners that need no model provider.
func Runners(c *config.Config) map[string]supervise.Runner {
	known := map[string]supervise.Runner{}
	for name := range c.Runners {
		if kind := runnerKind(c, name); kind.New != nil && !kind.Models {
			known[name] = kind.New(runnerSettings(c, name))
		}
	}
	return known
}

// AgentOptions returns the options for checking agent definitions.
func AgentOptions(c *config.Config) agentfile.Options {
	kinds := map[string]task.RunnerKind{builtinName: runnerKind(c, builtinName).RunnerKind}
	for name := range c.Runners {
		kinds[name] = runnerKind(c, name).RunnerKind
	}
	apart := func(name, s string) error {
		if runnerKind(c, name).Place != runner.Here {
			return nil // it is a folder on another machine
		}
		return workspace.CheckApart(s, c.Data)
	}
	pullOnly := func(name string) string {
		kind, ok := runner.FindKind(kinds[name].Name)
		switch {
		case kinds[name].Name == "": // in another configuration
			return ""
		case !ok:
			return "runners of kind " + kinds[name].Name + " are not part of this version"
		case kind.Missing == nil:
			return ""
		}
		return kind.Missing(runnerSettings(c, name)) // on each read, because its program may have been installed
	}
	return agentfile.Options{Runners: kinds, DefaultRunner: builtinName, Models: runnerModels(c), Workspace: apart, PullOnly: pullOnly}
}

// mcpBridge returns the command line that runs this program as an MCP server on
// stdin and stdout; nil if its path is unknown.
func mcpBridge() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "mcp"}
}

// EnforcementGap describes what an agent with these tools could do beyond them
// under a configured runner, as sentences; "" if the runner enforces them, or
// is unknown.
func EnforcementGap(cfg *config.Config, known map[string]supervise.Runner, name string, tools []string) string {
	if runnerKind(cfg, name).Place == runner.Worker {
		return "A worker on another machine starts it; enforcement of these tools is configured there."
	}
	c, ok := known[name].(supervise.Confiner)
	if !ok {
		return ""
	}
	sentence, refused := c.EnforcementGap(tools)
	if refused {
		sentence += " Therefore it is not started, unless accept_weaker = true is configured for this runner."
	}
	return sentence
}

// newConfinement returns which files the program of a runner may change; it may
// not read those of the instance.
func newConfinement(cfg *config.Config, r config.Runner) supervise.Confinement {
	c := supervise.Confinement{On: r.Confine == nil || *r.Confine, Writable: r.Writable}
	if data, err := filepath.Abs(cfg.Data); err == nil {
		c.Hidden = []string{data}
	}
	return c
}
