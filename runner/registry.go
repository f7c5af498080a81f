package runner

import "taskyard/runner/model"

// Place is where the agents of a kind of runner work.
type Place int

// The places.
const (
	Here     Place = iota // on this machine
	Receiver              // behind the address that gets the run
	Worker                // on the machine of a worker, which starts them
)

// Kind is one kind of runner: all that the rest of the program knows about it.
type Kind struct {
	Name    string
	Place   Place
	Program string // the program that it starts unless another one is configured; "" for none
	Models  bool   // it calls the models of a provider

	// New makes a runner; nil where a worker does.
	New func(Settings) Runner
	// Missing returns why no run can be started now, or "". It is called often
	// and starts nothing; nil: runs can always be started.
	Missing func(Settings) string
	// Capabilities is what can be enforced, before this machine is looked at.
	Capabilities Probe
	// Fix returns how to fix a runner that cannot start anything; nil for
	// programs, which must be installed.
	Fix func(Settings) string
}

// Settings is the configuration of one runner. Each kind reads the fields that
// it needs.
type Settings struct {
	Name         string // of the runner
	Argv         []string
	Env          map[string]string
	AcceptWeaker bool
	Confine      Confinement
	Network      bool
	Bridge       []string // see ACP
	URL          string
	SecretEnv    string
	AllowPrivate bool
	Callback     string // see Webhook

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

// kinds is the registry.
var kinds = []Kind{
	builtinKind, claudeKind, codexKind, acpKind, commandKind, webhookKind,
	{
		Name: "worker", Place: Worker,
		Capabilities: Probe{
			Tools: "A worker on another machine starts it; what holds it to its tools is configured there.",
			Shell: elsewhere, Network: elsewhere,
		},
	},
}

// FindKind returns the kind with a name, and false if this version has none.
func FindKind(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{Name: name}, false
}

const elsewhere = "decided where it works, not here"

// probeOf is what a runner of a kind can enforce, before this machine is looked
// at.
func probeOf(kind string) Probe {
	k, _ := FindKind(kind)
	k.Capabilities.Kind = kind
	return k.Capabilities
}

// as is p with the kind of another, and what that kind enforces.
func (p Probe) as(kind Probe) Probe {
	kind.Installed, kind.Version, kind.Path, kind.Problem = p.Installed, p.Version, p.Path, p.Problem
	return kind
}

// missingProgram is Missing of kinds that start a program.
func missingProgram(s Settings) string { return Missing(s.Argv) }
