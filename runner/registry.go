package runner

import (
	"cmp"
	"os"

	"taskyard/runner/acp"
	"taskyard/runner/builtin"
	"taskyard/runner/builtin/model"
	"taskyard/runner/claude"
	"taskyard/runner/codex"
	"taskyard/runner/command"
	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/runner/webhook"
	"taskyard/task"
)

// Place is where the agents of a runner kind execute.
type Place int

// The places.
const (
	Here     Place = iota // on this machine
	Receiver              // behind the URL that receives the run
	Worker                // on the machine of a worker
)

// Kind describes one kind of runner to the rest of the program.
type Kind struct {
	task.RunnerKind
	Place   Place
	Program string // its default program; "": none
	Steers  bool   // it delivers messages from people to a working run
	MCP     bool   // its programs receive Taskyard's MCP server

	Converses bool // its runs can begin with the conversation of earlier runs

	// New creates a runner; nil if workers execute the runs.
	New func(Settings) supervise.Runner
	// Missing returns why no run can start now, or "". It is called often and
	// starts nothing; nil: runs can always start.
	Missing func(Settings) string
	// Capabilities is what can be enforced, before this machine is probed.
	Capabilities supervise.Probe
	// Fix returns how to fix a runner that cannot start; nil for programs,
	// which must be installed.
	Fix func(Settings) string
}

// Settings is the configuration of one runner. Each kind reads only its own
// fields.
type Settings struct {
	Name         string // of the runner
	Argv         []string
	Env          map[string]string
	AcceptWeaker bool
	Confine      supervise.Confinement
	Network      bool
	Bridge       []string // see acp.Runner
	URL          string
	SecretEnv    string
	AllowPrivate bool
	Callback     string // see webhook.Runner

	NoProvider string // why it has no model provider, or ""
	Provider   Provider
}

// Provider is the model provider of a runner.
type Provider struct {
	Name         string
	Model        model.Model
	Models       []string
	DefaultModel string
	Prices       map[string]Price
	Problem      string // why it cannot be called, or ""
}

// Price is the price of a million tokens of a model.
type Price = builtin.Price

// program returns how to start the program of a runner, confined if its kind
// requires that.
func (s Settings) program() supervise.Program { return supervise.Program{Argv: s.Argv, Env: s.Env} }

func (s Settings) confined() supervise.Program {
	p := s.program()
	p.Confine = s.Confine
	return p
}

// Tools of a new definition.
const (
	readingTools = "read, list, grep, glob"
	editingTools = readingTools + ", create, edit"
	allTools     = editingTools + ", bash"
)

const setSecret = "Put the secret into the environment of the server under the name in secret_env, and start it again."

// kinds is the registry.
var kinds = []Kind{
	{
		RunnerKind: task.RunnerKind{
			Name: "builtin", Title: "Built-in agent", About: "Taskyard's own loop over a model of a provider.",
			Lack: task.LacksConfiguration, Tools: editingTools, Models: true, ForeignModels: true,
		},
		Steers: true, Converses: true, Capabilities: builtin.Capabilities,
		New: func(s Settings) supervise.Runner {
			p := s.Provider
			return &builtin.Runner{
				Provider: p.Name, Model: p.Model, Problem: cmp.Or(s.NoProvider, p.Problem), Models: p.Models, DefaultModel: p.DefaultModel,
				Prices: p.Prices, AcceptWeaker: s.AcceptWeaker,
				Tools: builtin.OpenTools(s.AcceptWeaker), Shell: builtin.ShellLevel(s.AcceptWeaker),
			}
		},
		Missing: func(s Settings) string { return s.NoProvider },
		Fix: func(s Settings) string {
			return "A provider needs api and, unless the default is right, base_url; api_key_env names the variable with its key. " +
				"Of several providers, name one by provider in [runners." + s.Name + "]. A new environment variable needs a restart."
		},
	},
	{
		RunnerKind: task.RunnerKind{Name: "claude", Title: "Claude Code", About: "Claude Code executes its runs.", Tools: allTools},
		MCP:        true, Steers: true, Program: claude.Program, Capabilities: claude.Capabilities, Missing: missingProgram,
		New: func(s Settings) supervise.Runner {
			c := &claude.Runner{Program: s.confined(), AcceptWeaker: s.AcceptWeaker}
			if s.SecretEnv != "" {
				c.Pass = []string{s.SecretEnv}
			}
			return c
		},
		Fix: func(s Settings) string {
			if s.SecretEnv == "" || os.Getenv(s.SecretEnv) != "" {
				return ""
			}
			return setSecret
		},
	},
	{
		RunnerKind: task.RunnerKind{Name: "codex", Title: "Codex", About: "Codex executes its runs.", Tools: allTools, ForeignModels: true},
		MCP:        true, Steers: true, Program: codex.Program, Capabilities: codex.Capabilities, Missing: missingProgram,
		New: func(s Settings) supervise.Runner {
			return &codex.Runner{Program: s.program(), Network: s.Network, AcceptWeaker: s.AcceptWeaker}
		},
	},
	{
		RunnerKind: task.RunnerKind{
			Name: "acp", Title: "Agent Client Protocol", About: "A program that speaks the Agent Client Protocol executes its runs.",
			Tools: allTools, ForeignModels: true,
		},
		MCP: true, Steers: true, Capabilities: acp.Capabilities, Missing: missingProgram,
		New: func(s Settings) supervise.Runner {
			return &acp.Runner{Program: s.confined(), Bridge: s.Bridge, AcceptWeaker: s.AcceptWeaker}
		},
	},
	{
		RunnerKind: task.RunnerKind{
			Name: "command", Title: "Any program", About: "A program of yours executes its runs.", Tools: readingTools,
		},
		Capabilities: command.Capabilities, Missing: missingProgram,
		New: func(s Settings) supervise.Runner { return &command.Runner{Program: s.program()} },
	},
	{
		RunnerKind: task.RunnerKind{
			Name: "webhook", Title: "Webhook", About: "A receiver that is called over HTTP executes its runs.",
			Lack: task.LacksConfiguration, Tools: readingTools,
		},
		Place: Receiver, Capabilities: webhook.Capabilities,
		New: func(s Settings) supervise.Runner {
			return &webhook.Runner{URL: s.URL, SecretEnv: s.SecretEnv, AllowPrivate: s.AllowPrivate, Callback: s.Callback}
		},
		Fix: func(Settings) string { return setSecret },
	},
	{
		RunnerKind: task.RunnerKind{
			Name: "worker", Title: "Workers on other machines", About: "Workers on other machines execute its runs.",
			Lack: task.LacksWorker, Tools: allTools,
		},
		Place: Worker,
		Capabilities: supervise.Probe{
			Kind:  "worker",
			Tools: "A worker on another machine starts it; enforcement of its tools is configured there.",
			Shell: enforce.Elsewhere, Network: enforce.Elsewhere,
		},
	},
}

// FindKind returns a kind by name; ok is false if this version has none.
func FindKind(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{RunnerKind: task.RunnerKind{Name: name}, Capabilities: supervise.Probe{Kind: name}}, false
}

// missingProgram is the Missing function of kinds that start a program.
func missingProgram(s Settings) string {
	if _, err := supervise.LookPath(s.Argv); err != nil {
		return err.Error()
	}
	return ""
}
