package runner

// probeOf is what a runner of a kind can enforce, before this machine is looked
// at.
func probeOf(kind string) Probe {
	p := holds[kind]
	p.Kind = kind
	return p
}

// as is p with the kind of another, and what that kind enforces.
func (p Probe) as(kind Probe) Probe {
	kind.Installed, kind.Version, kind.Path, kind.Problem = p.Installed, p.Version, p.Path, p.Problem
	return kind
}

const elsewhere = "decided where it works, not here"

// holds says what each kind of runner can enforce.
var holds = map[string]Probe{
	"builtin": {
		EnforcesTools: true,
		Tools:         "Each call is checked against the agent's list when it is made.",
		Shell:         "there is no shell",
		Network:       "bash: closed, unless the definition says network: true; fetch: public addresses alone",
	},
	"claude": { // a probe tells more of Shell and Network
		EnforcesTools: true,
		Tools:         "The program is given the agent's list by --tools and refuses all others.",
		Shell:         "confined by landlock, where this machine has it",
		Network:       "closed to commands, unless the definition says network: true",
	},
	"codex": {
		Tools:   "Codex has no list of tools; its sandbox is read-only, or lets agents with create, edit or bash write to their workspace.",
		Shell:   "the sandbox of Codex",
		Network: "closed to commands",
	},
	"acp": { // a probe tells more of Shell
		Tools:   "The agent is told its tools; it asks before a call only when it wants to.",
		Shell:   "confined by landlock, where this machine has it",
		Network: "open",
	},
	"command": {
		Tools:   "The program is told the agent's tools and not held to them.",
		Shell:   "not confined: it can do all that the account of the server can",
		Network: "open",
	},
	"webhook": {Tools: "The receiver is told the agent's tools and not held to them.", Shell: elsewhere, Network: elsewhere},
	"worker":  {Tools: "A worker on another machine starts it; what holds it to its tools is configured there.", Shell: elsewhere, Network: elsewhere},
}
