package main

import (
	"os"
	"path/filepath"
	"slices"

	"taskyard/internal/config"
	"taskyard/runner"
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

// proberOf makes what looks at the configured runners, and at the built-in
// one, in the background.
func (y *yard) proberOf() *runner.Prober {
	names := []string{}
	for name := range y.cfg.Runners {
		names = append(names, name)
	}
	if _, ok := y.cfg.Runners[builtinName]; !ok {
		names = append(names, builtinName)
	}
	slices.Sort(names)
	var list []runner.Source
	for _, name := range names {
		list = append(list, y.sourceOf(name))
	}
	return runner.NewProber(list, func() {
		y.agents.Reload() // what can be started may be another thing now
		y.svc.AgentsChanged(nil)
	})
}

func (y *yard) sourceOf(name string) runner.Source {
	r, configured := y.cfg.Runners[name]
	if !configured {
		r.Kind = "builtin"
	}
	s := runner.Source{Name: name, Kind: r.Kind, Runner: y.known[name]}
	switch r.Kind {
	case "builtin":
		if s.Runner == nil {
			_, problem := providerOf(y.cfg, name)
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
func (y *yard) weaker(name string, tools []string) string {
	return weakerOf(y.cfg, y.known, name, tools)
}

func weakerOf(cfg *config.Config, known map[string]runner.Runner, name string, tools []string) string {
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
func (y *yard) enforces(plan task.Spec) []task.Enforcement {
	if y.cfg.Runners[plan.Runner].Kind == "worker" {
		return runner.Enforces(nil, plan)
	}
	return runner.Enforces(y.known[plan.Runner], plan)
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
// it may not read those of the yard.
func confinementOf(cfg *config.Config, r config.Runner) runner.Confinement {
	c := runner.Confinement{On: r.Confine == nil || *r.Confine, Writable: r.Writable}
	if data, err := filepath.Abs(cfg.Data); err == nil {
		c.Hidden = []string{data}
	}
	return c
}
