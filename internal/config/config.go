// Package config loads the configuration of a Taskyard server: defaults, then
// taskyard.toml, then TASKYARD_… variables, then flags. Each value is checked
// where it is read, and an error names the file and line, the variable or the
// flag, and the valid values.
package config

import (
	"time"
	_ "time/tzdata" // for images without zoneinfo
)

// Config is the effective configuration. Load creates it; all its values have
// been checked.
type Config struct {
	Listen         string   `toml:"listen"`          // host:port, or unix: and the path of a socket
	Data           string   `toml:"data"`            // folder, relative to the working directory
	Database       string   `toml:"database"`        // PostgreSQL URL; "": SQLite in the data folder
	PublicURL      string   `toml:"public_url"`      // "" without a proxy; no trailing slash
	TrustedProxies []string `toml:"trusted_proxies"` // addresses or CIDR ranges
	AllowedHosts   []string `toml:"allowed_hosts"`   // additional names that the server accepts

	Log       Log                 `toml:"log"`
	TLS       TLS                 `toml:"tls"`
	Scheduler Scheduler           `toml:"scheduler"`
	Runs      Runs                `toml:"runs"`
	Claims    Claims              `toml:"claims"`
	Budget    Budget              `toml:"budget"`
	Approval  Approval            `toml:"approval"`
	Checks    Checks              `toml:"checks"`
	TaskTool  TaskTool            `toml:"task_tool"`
	Backup    Backup              `toml:"backup"`
	Providers map[string]Provider `toml:"providers"`
	Runners   map[string]Runner   `toml:"runners"`
	Notify    map[string]Notify   `toml:"notify"`

	values  map[string]any // by dotted key, as checked; printed by Print
	sources Sources
	opts    LoadOptions // options that it was loaded with
	file    string
}

// File returns the path of the configuration file, "" if there is none.
func (c *Config) File() string { return c.file }

// TLS configures the certificate with which the server itself serves https: one
// in files, or one obtained by ACME for the host of PublicURL. Both empty:
// plain HTTP.
type TLS struct {
	Cert          string `toml:"cert"` // file, PEM
	Key           string `toml:"key"`  // file, PEM
	ACME          string `toml:"acme"` // email address of the account
	ACMEDirectory string `toml:"acme_directory"`
	Redirect      string `toml:"redirect"` // address that redirects plain HTTP to https; "": none
}

// Log configures the server's log.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn or error
	Format string `toml:"format"` // text, json, or auto: text on a terminal, JSON otherwise
}

// Scheduler configures ticks.
type Scheduler struct {
	Enabled           bool   `toml:"enabled"`     // false: no ticks and no wakes
	Cron              string `toml:"cron"`        // five fields
	Timezone          string `toml:"timezone"`    // of the cron line
	Concurrency       int    `toml:"concurrency"` // parallel runs of one tick
	WakeBudgetPerHour int    `toml:"wake_budget_per_hour"`
}

// Location returns the time zone of the cron lines.
func (s Scheduler) Location() (*time.Location, error) { return time.LoadLocation(s.Timezone) }

// Runs are the limits of runs unless their agent overrides them.
type Runs struct {
	MaxParallel   int           `toml:"max_parallel"` // in total
	Timeout       time.Duration `toml:"timeout"`      // wall clock
	IdleTimeout   time.Duration `toml:"idle_timeout"` // without progress
	Attempts      int           `toml:"attempts"`
	EqualFailures int           `toml:"equal_failures"` // consecutive equal failures that pause an agent; 0: never
	// MaxCheckAttempts is how often a run may complete its task with failing
	// checks. After the last attempt, people decide.
	MaxCheckAttempts int           `toml:"max_check_attempts"`
	KeepTranscripts  time.Duration `toml:"keep_transcripts"`
}

// Claims configures how long a claim lasts without a heartbeat.
type Claims struct {
	Lease time.Duration `toml:"lease"`
}

// Budget limits the usage of the whole instance per UTC day; 0: no limit.
type Budget struct {
	MaxCostUSDPerDay float64 `toml:"max_cost_usd_per_day"`
	MaxTokensPerDay  int     `toml:"max_tokens_per_day"`
}

// Approval configures which runs a person must approve, unless the agent's
// definition overrides it, and when requests expire.
type Approval struct {
	Policy  string        `toml:"policy"` // always, delegated or never
	Expires time.Duration `toml:"expires"`
}

// Checks configures the commands of projects.
type Checks struct {
	AcceptWeaker bool `toml:"accept_weaker"` // run them even if this machine cannot confine them
}

// TaskTool limits delegation between agents.
type TaskTool struct {
	Enabled               bool `toml:"enabled"`
	MaxDepth              int  `toml:"max_depth"`
	DefaultTimeoutSeconds int  `toml:"default_timeout_seconds"`
	MaxTokens             int  `toml:"max_tokens"`
	EnableVerboseLogging  bool `toml:"enable_verbose_logging"`
	AllowModelOverride    bool `toml:"allow_model_override"`
	MaxPerHour            int  `toml:"max_per_hour"`
}

// Backup configures when the instance is backed up and how many backups are
// kept.
type Backup struct {
	Cron         string        `toml:"cron"`
	Keep         int           `toml:"keep"`
	After        []string      `toml:"after"` // program and arguments, started for each backup; {file} is its path
	AfterTimeout time.Duration `toml:"after_timeout"`
}

// Provider is a model endpoint for runners of kind builtin.
type Provider struct {
	API          string           `toml:"api"` // openai or anthropic
	BaseURL      string           `toml:"base_url"`
	APIKeyEnv    string           `toml:"api_key_env"` // variable with the key; "": none
	Models       []string         `toml:"models"`      // empty: any
	DefaultModel string           `toml:"default_model"`
	PricePerMtok map[string]Price `toml:"price_per_mtok"` // by model
}

// Price is the price of a million tokens, in US dollars. Cached is that of
// tokens read from the provider's cache; the default is In.
type Price struct{ In, Out, Cached float64 }

// Runner configures how the agents that name it are started.
type Runner struct {
	Kind         string            `toml:"kind"`
	Command      []string          `toml:"command"`       // program and arguments
	Env          map[string]string `toml:"env"`           // added to the program's environment
	Workspace    string            `toml:"workspace"`     // absolute path, or worktree: and that of a repository; "": a folder per run
	AcceptWeaker bool              `toml:"accept_weaker"` // run even if a limit cannot be enforced
	Confine      *bool             `toml:"confine"`       // kinds claude and acp: confine files with landlock; nil: true
	Writable     []string          `toml:"writable"`      // same kinds: writable folders outside the workspace
	Network      bool              `toml:"network"`       // kind codex: commands that may write have network access
	Provider     string            `toml:"provider"`      // kind builtin; "" if only one is configured
	URL          string            `toml:"url"`           // kind webhook
	SecretEnv    string            `toml:"secret_env"`    // variable with the signing secret (webhook) or credential (claude)
	AllowPrivate bool              `toml:"allow_private"` // kind webhook: permit private addresses
	Labels       []string          `toml:"labels"`        // kind worker: labels that a worker must have
}

// Notify is an external service that is notified of what waits for people.
type Notify struct {
	URLEnv string   `toml:"url_env"` // variable with its URL
	Kinds  []string `toml:"kinds"`   // kinds of notifications
}
