package task

// RunnerInfo is what is known of a runner: whether it can start anything, and
// what it holds an agent to.
type RunnerInfo struct {
	Name      string `json:"name" doc:"as in definitions"`
	Kind      string `json:"kind"`
	Installed bool   `json:"installed" doc:"true: it can start agents, as far as is known"`
	Version   string `json:"version,omitempty" doc:"first line of what the program reports about itself"`
	Path      string `json:"path,omitempty" doc:"path of the program; only for admins"`
	Problem   string `json:"problem,omitempty" doc:"why it cannot start agents, or what could not be determined"`
	Remedy    string `json:"remedy,omitempty" doc:"how to fix the problem"`

	EnforcesTools bool   `json:"holdsTools" doc:"true: tools that an agent's definition does not list are refused; false: the agent is only told which tools it has"`
	Tools         string `json:"tools" doc:"how, in one sentence"`
	Shell         string `json:"shell" doc:"how commands of the agent are confined, in plain text"`
	Network       string `json:"network" doc:"what it can reach over the network, in plain text"`

	Title string     `json:"-"` // of its kind, for people, such as "Claude Code"
	Lack  RunnerLack `json:"-"` // what it lacks unless it is installed

	ProbedAt Time `json:"probedAt,omitzero" doc:"absent: not checked yet"`
	Probing  bool `json:"probing,omitzero" doc:"true: a check is in progress"`
}

// RunnerKind is what the parts of the program that start nothing know of a kind
// of runner.
type RunnerKind struct {
	Name   string
	Title  string // for people
	About  string // who executes the runs of its agents, in a sentence
	Lack   RunnerLack
	Tools  string // of the definition that a new agent begins with
	Models bool   // it calls the models of a provider

	// ForeignModels: it does not understand the short names by which Claude Code
	// calls its models, such as sonnet.
	ForeignModels bool
}

// RunnerTraits are what a run needs to know of its runner for as long as it
// runs: the configuration of that name may have changed or gone since.
type RunnerTraits struct {
	Kind     string `json:"kind,omitempty"`
	Receiver bool   `json:"receiver,omitzero" doc:"true: its receiver reports over the API"`
	Steers   bool   `json:"steers,omitzero" doc:"true: it delivers messages from people during a run"`
	MCP      bool   `json:"mcp,omitzero" doc:"true: its program gets the MCP server"`
}

// RunnerLack is what a runner that can start nothing lacks.
type RunnerLack int

// What runners lack.
const (
	LacksProgram       RunnerLack = iota // on this machine
	LacksConfiguration                   // such as a model provider or a secret
	LacksWorker                          // a worker that is connected
)

// State is the runner in one word: ready, missing, or unknown before the first
// look.
func (r *RunnerInfo) State() string {
	switch {
	case r.ProbedAt == 0:
		return "unknown"
	case r.Installed:
		return "ready"
	}
	return "missing"
}

// EnforcementLevel says how far a runner enforces what was requested.
type EnforcementLevel string

// The enforcement levels.
const (
	Enforced       EnforcementLevel = "enforced"
	PartlyEnforced EnforcementLevel = "partly"       // How says what is not enforced
	NotEnforced    EnforcementLevel = "not_enforced" // the agent is told, and may do otherwise
	NotAsked       EnforcementLevel = "not_asked"    // there is nothing to hold it to: a tool that is allowed, a limit that is not set
)

// Enforcement is one tool or limit: what was requested, and whether the runner
// enforces it.
type Enforcement struct {
	What  string           `json:"what" doc:"a tool by its name, or files, network, timeout, idleTimeout, maxTokens, maxTurns, maxCostUsd"`
	Asked string           `json:"asked" doc:"for example: allowed, not allowed, writes only in its workspace, closed, 300 s, none"`
	Level EnforcementLevel `json:"enforced" enum:"enforced,partly,not_enforced,not_asked"`
	How   string           `json:"how,omitempty" doc:"what enforces it, or what is not enforced"`
}

// Unenforced returns what is requested but not, or only partly, enforced.
func Unenforced(list []Enforcement) (out []Enforcement) {
	for _, e := range list {
		if e.Level == NotEnforced || e.Level == PartlyEnforced {
			out = append(out, e)
		}
	}
	return out
}
