// Package config reads the configuration of a Taskyard server: defaults, then
// taskyard.toml, then TASKYARD_… variables, then flags. Each value is checked
// where it comes in, and an error names the file and line, the variable or
// the flag, and the values that are valid.
package config

import (
	"time"
	_ "time/tzdata" // time zones work in images without zoneinfo
)

// Config is the effective configuration. Load makes it; every value of it has
// been checked.
type Config struct {
	Listen         string   `koanf:"listen"`          // host:port
	Data           string   `koanf:"data"`            // folder, relative to the working directory
	PublicURL      string   `koanf:"public_url"`      // "" when not behind a proxy; no trailing slash
	TrustedProxies []string `koanf:"trusted_proxies"` // addresses or CIDR ranges
	AllowedHosts   []string `koanf:"allowed_hosts"`   // further names under which the server answers
	LogLevel       string   `koanf:"log_level"`       // debug, info, warn or error

	Scheduler Scheduler           `koanf:"scheduler"`
	Runs      Runs                `koanf:"runs"`
	Claims    Claims              `koanf:"claims"`
	Budget    Budget              `koanf:"budget"`
	Approval  Approval            `koanf:"approval"`
	TaskTool  TaskTool            `koanf:"task_tool"`
	Backup    Backup              `koanf:"backup"`
	Providers map[string]Provider `koanf:"providers"`
	Runners   map[string]Runner   `koanf:"runners"`
	Notify    map[string]Notify   `koanf:"notify"`

	values map[string]any // by dotted key, as checked; what Print shows
}

// Scheduler says when and how ticks run.
type Scheduler struct {
	Enabled           bool   `koanf:"enabled"`     // false: no ticks and no wakes
	Cron              string `koanf:"cron"`        // five fields
	Timezone          string `koanf:"timezone"`    // of the cron line
	Concurrency       int    `koanf:"concurrency"` // runs of one tick at a time
	WakeBudgetPerHour int    `koanf:"wake_budget_per_hour"`
}

// Location returns the time zone of the cron lines.
func (s Scheduler) Location() (*time.Location, error) { return time.LoadLocation(s.Timezone) }

// Runs bounds runs where their agent does not say otherwise.
type Runs struct {
	MaxParallel     int           `koanf:"max_parallel"` // in all
	Timeout         time.Duration `koanf:"timeout"`      // wall clock
	IdleTimeout     time.Duration `koanf:"idle_timeout"` // without progress
	Attempts        int           `koanf:"attempts"`
	EqualFailures   int           `koanf:"equal_failures"` // in a row, which pause an agent; 0: never
	KeepTranscripts time.Duration `koanf:"keep_transcripts"`
}

// Claims says how long a claim holds without a heartbeat.
type Claims struct {
	Lease time.Duration `koanf:"lease"`
}

// Budget is what the whole instance may use per UTC day; 0 means no limit.
type Budget struct {
	MaxCostUSDPerDay float64 `koanf:"max_cost_usd_per_day"`
	MaxTokensPerDay  int     `koanf:"max_tokens_per_day"`
}

// Approval says which runs a person must approve, unless the agent's
// definition says so itself, and for how long the question stays open.
type Approval struct {
	Policy  string        `koanf:"policy"` // always, delegated or never
	Expires time.Duration `koanf:"expires"`
}

// TaskTool bounds delegation between agents.
type TaskTool struct {
	Enabled               bool `koanf:"enabled"`
	MaxDepth              int  `koanf:"max_depth"`
	DefaultTimeoutSeconds int  `koanf:"default_timeout_seconds"`
	MaxTokens             int  `koanf:"max_tokens"`
	EnableVerboseLogging  bool `koanf:"enable_verbose_logging"`
	AllowModelOverride    bool `koanf:"allow_model_override"`
	MaxPerHour            int  `koanf:"max_per_hour"`
}

// Backup says when the database is copied and how many copies stay.
type Backup struct {
	Cron string `koanf:"cron"`
	Keep int    `koanf:"keep"`
}

// Provider is a model endpoint for runners of kind builtin.
type Provider struct {
	API          string           `koanf:"api"` // openai or anthropic
	BaseURL      string           `koanf:"base_url"`
	APIKeyEnv    string           `koanf:"api_key_env"` // name of the variable that holds the key; "" for none
	Models       []string         `koanf:"models"`      // empty: any
	DefaultModel string           `koanf:"default_model"`
	PricePerMtok map[string]Price `koanf:"price_per_mtok"` // by model
}

// Price is what a million tokens cost, in US dollars. Cached is that of tokens
// read from the provider's cache: the same as In where it is not given.
type Price struct{ In, Out, Cached float64 }

// Runner says how the agents that name it are started.
type Runner struct {
	Kind         string            `koanf:"kind"`
	Command      []string          `koanf:"command"`       // program and arguments
	Env          map[string]string `koanf:"env"`           // added to the program's environment
	Workspace    string            `koanf:"workspace"`     // absolute path of a folder, or worktree: and that of a repository; "" makes a folder per run
	AcceptWeaker bool              `koanf:"accept_weaker"` // run although a limit cannot be enforced
	Confine      *bool             `koanf:"confine"`       // of kind claude and acp: files are held by landlock; nil is true
	Writable     []string          `koanf:"writable"`      // of the same kinds: folders outside the workspace that may be written
	Network      bool              `koanf:"network"`       // of kind codex: commands that may write may reach the network
	Provider     string            `koanf:"provider"`      // of kind builtin; "" when only one is configured
	URL          string            `koanf:"url"`           // of kind webhook
	SecretEnv    string            `koanf:"secret_env"`    // variable that holds the signing secret (webhook) or the credential handed on (claude)
	AllowPrivate bool              `koanf:"allow_private"` // of kind webhook: loopback and private addresses too
	Labels       []string          `koanf:"labels"`        // of kind worker: what a worker must offer
}

// Notify is a service outside that is told what waits for a person.
type Notify struct {
	URLEnv string   `koanf:"url_env"` // variable that holds its address
	Kinds  []string `koanf:"kinds"`   // what it is told
}
