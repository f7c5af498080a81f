package task

import "time"

// Rules are what the configuration says about claims, runs, approvals and
// delegation. Admins may change them while the server runs. Package
// internal/config has their defaults and bounds.
type Rules struct {
	Lease           time.Duration // of a claim
	RunTimeout      time.Duration
	IdleTimeout     time.Duration
	Attempts        int
	CheckAttempts   int  // completions of a run that checks refuse before its result goes to people, that one included
	EqualFailures   int  // in a row, which pause an agent; 0: never
	MaxParallel     int  // runs in all
	TickConcurrency int  // runs of ticks at a time
	WakeBudget      int  // wakes per task and hour
	Wakes           bool // false: no ticks and no wakes
	Policy          Policy
	ApprovalExpires time.Duration
	Budget          Budget // of the whole instance per UTC day; zero bounds are none
	KeepTranscripts time.Duration
	TaskTool        DelegationRules
}

// DelegationRules say what delegation may do. The names are those of the
// configuration's table.
type DelegationRules struct {
	Enabled       bool
	MaxDepth      int           // of runs below the first; 0 forbids delegation
	Timeout       time.Duration // of delegated runs whose agent names none
	MaxTokens     int           // of one delegated run
	Verbose       bool          // log each transcript line of delegated runs
	ModelOverride bool          // callers may name a model
	MaxPerHour    int           // delegations of one agent

	Models       []string // that the configured providers offer
	AnyModel     bool     // some provider offers models without listing them
	DefaultModel string   // where nothing else names one
}

// Setting is a key of the configuration that can be changed while the server
// runs. Values are text, as variables and flags of the server give them.
type Setting struct {
	Key     string   `json:"key" doc:"as in taskyard.toml, for example runs.timeout"`
	About   string   `json:"about" doc:"what it is"`
	Value   string   `json:"value"`
	Default string   `json:"default"`
	Source  string   `json:"source" doc:"the default, a line of the file, a variable or a flag"`
	Locked  string   `json:"locked,omitempty" doc:"why it cannot be changed here; absent: it can"`
	Choices []string `json:"choices,omitempty" doc:"all valid values; absent: other values are valid, too"`
}
