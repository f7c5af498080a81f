package app

import (
	"os"
	"path/filepath"
	"slices"

	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// programOf is the command line of a runner; a kind that is one certain
// program needs none.
func programOf(r config.Runner) []string {
	if len(r.Command) == 0 && (r.Kind == "codex" || r.Kind == "claude") {
		return []string{r.Kind}
	}
	return r.Command
}

// prober makes what looks at the configured runners, and at the built-in
// one, in the background.
func (in *Instance) prober() *runner.Prober {
	names := []string{}
	for name := range in.Config.Runners {
		names = append(names, name)
	}
	if _, ok := in.Config.Runners[builtinName]; !ok {
		names = append(names, builtinName)
	}
	slices.Sort(names)
	var list []runner.Source
	for _, name := range names {
		list = append(list, in.sourceOf(name))
	}
	return runner.NewProber(list, func() {
		in.Agents.Reload() // what can be started may be another thing now
		in.Service.AgentsChanged(nil)
	})
}

func (in *Instance) sourceOf(name string) runner.Source {
	r, configured := in.Config.Runners[name]
	if !configured {
		r.Kind = "builtin"
	}
	s := runner.Source{Name: name, Kind: r.Kind, Runner: in.runners[name]}
	switch r.Kind {
	case "builtin":
		if s.Runner == nil {
			_, problem := providerOf(in.Config, name)
			s.Runner = &runner.Builtin{Problem: problem, Shell: runner.ShellLevel(r.AcceptWeaker)}
			s.Remedy = "Add a section [providers.NAME] with api, base_url and api_key_env to taskyard.toml, or name one of several by provider in [runners." + name + "], and start the server again."
		}
	case "command", "codex", "acp", "claude":
		s.Argv = programOf(r)
	case "webhook":
		s.Remedy = "Put the secret into the environment of the server under the name in secret_env, and start it again."
	}
	return s
}

// Runners makes the runners that this program knows how to start.
func Runners(c *config.Config) map[string]runner.Runner {
	known := map[string]runner.Runner{}
	for name, r := range c.Runners {
		program := runner.Program{Argv: programOf(r), Env: r.Env}
		switch r.Kind {
		case "command":
			known[name] = &runner.Command{Argv: r.Command, Env: r.Env}
		case "webhook":
			known[name] = &runner.Webhook{URL: r.URL, SecretEnv: r.SecretEnv, AllowPrivate: r.AllowPrivate, Callback: c.PublicURL}
		case "codex":
			known[name] = &runner.Codex{Program: program, Network: r.Network, AcceptWeaker: r.AcceptWeaker}
		case "acp":
			program.Confine = confinementOf(c, r)
			known[name] = &runner.ACP{Program: program, Bridge: mcpBridge(), AcceptWeaker: r.AcceptWeaker}
		case "claude":
			known[name] = claudeOf(c, r)
		}
	}
	return known
}

// AgentOptions returns what definitions of agents are checked against.
func AgentOptions(c *config.Config) agentfile.Options {
	kinds := map[string]string{"builtin": "builtin"}
	for name, r := range c.Runners {
		kinds[name] = r.Kind
	}
	apart := func(name, s string) error {
		if kinds[name] == "worker" || kinds[name] == "webhook" {
			return nil // it is a folder of another machine
		}
		return workspace.CheckApart(s, c.Data)
	}
	return agentfile.Options{Runners: kinds, DefaultRunner: "builtin", Models: modelsOf(c), Workspace: apart, PullOnly: func(name string) string {
		switch kind := kinds[name]; kind {
		case "command", "webhook", "worker":
			return ""
		case "codex", "acp":
			return runner.Missing(programOf(c.Runners[name]))
		case "builtin":
			_, problem := providerOf(c, name)
			return problem
		case "claude":
			// Looked for at each reading: it may be installed meanwhile.
			return claudeOf(c, c.Runners[name]).Missing()
		default:
			return "runners of kind " + kind + " are not part of this version"
		}
	}}
}

// mcpBridge is the command line that makes this program an MCP server on its
// stdin and stdout; nil when its file is not known.
func mcpBridge() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "mcp"}
}

// weaker says what an agent with these tools could do beyond them under a
// runner, as sentences; "" when the runner holds it to them, or is not ours.
func (in *Instance) weaker(name string, tools []string) string {
	return Weaker(in.Config, in.runners, name, tools)
}

// Weaker says what an agent with these tools could do beyond them under a
// runner of the configuration, as sentences; "" when the runner holds it to
// them, or is not known.
func Weaker(cfg *config.Config, known map[string]runner.Runner, name string, tools []string) string {
	if cfg.Runners[name].Kind == "worker" {
		return "A worker on another machine starts it; what holds it to these tools is configured there."
	}
	c, ok := known[name].(runner.Confiner)
	if !ok {
		return ""
	}
	sentence, refused := c.Weaker(tools)
	if refused {
		sentence += " Therefore it is not started, unless accept_weaker = true is configured for this runner."
	}
	return sentence
}

// enforces lists what a run asks for, and what its runner enforces of it.
func (in *Instance) enforces(plan task.Spec) []task.Enforcement {
	if in.Config.Runners[plan.Runner].Kind == "worker" {
		return runner.Enforces(nil, plan)
	}
	return runner.Enforces(in.runners[plan.Runner], plan)
}

// claudeOf makes the runner of a section of kind claude.
func claudeOf(cfg *config.Config, r config.Runner) *runner.Claude {
	c := &runner.Claude{Argv: r.Command, Env: r.Env, Confine: confinementOf(cfg, r), AcceptWeaker: r.AcceptWeaker}
	if r.SecretEnv != "" {
		c.Pass = []string{r.SecretEnv}
	}
	return c
}

// confinementOf says which files the program of a runner may change, and that
// it may not read those of the instance.
func confinementOf(cfg *config.Config, r config.Runner) runner.Confinement {
	c := runner.Confinement{On: r.Confine == nil || *r.Confine, Writable: r.Writable}
	if data, err := filepath.Abs(cfg.Data); err == nil {
		c.Hidden = []string{data}
	}
	return c
}
