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
	Listen         string   `toml:"listen"`          // host:port, or unix: and the path of a socket
	Data           string   `toml:"data"`            // folder, relative to the working directory
	Database       string   `toml:"database"`        // URL of PostgreSQL; "" is SQLite in the data folder
	PublicURL      string   `toml:"public_url"`      // "" when not behind a proxy; no trailing slash
	TrustedProxies []string `toml:"trusted_proxies"` // addresses or CIDR ranges
	AllowedHosts   []string `toml:"allowed_hosts"`   // further names under which the server answers

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

	values  map[string]any // by dotted key, as checked; what Print shows
	sources Sources
	opts    LoadOptions // those that it was loaded with
	file    string
}

// File returns the path of the file that was read, "" for none.
func (c *Config) File() string { return c.file }

// TLS says by which certificate the server itself speaks https: one in files, or
// one that it obtains by ACME for the host of PublicURL. Both empty: plain HTTP.
type TLS struct {
	Cert          string `toml:"cert"` // file, PEM
	Key           string `toml:"key"`  // file, PEM
	ACME          string `toml:"acme"` // mail address of the account
	ACMEDirectory string `toml:"acme_directory"`
	Redirect      string `toml:"redirect"` // address that leads plain HTTP to https; "" for none
}

// Log says what the server logs, and how.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn or error
	Format string `toml:"format"` // text, json, or auto: text on a terminal, JSON otherwise
}

// Scheduler says when and how ticks run.
type Scheduler struct {
	Enabled           bool   `toml:"enabled"`     // false: no ticks and no wakes
	Cron              string `toml:"cron"`        // five fields
	Timezone          string `toml:"timezone"`    // of the cron line
	Concurrency       int    `toml:"concurrency"` // runs of one tick at a time
	WakeBudgetPerHour int    `toml:"wake_budget_per_hour"`
}

// Location returns the time zone of the cron lines.
func (s Scheduler) Location() (*time.Location, error) { return time.LoadLocation(s.Timezone) }

// Runs bounds runs where their agent does not say otherwise.
type Runs struct {
	MaxParallel   int           `toml:"max_parallel"` // in all
	Timeout       time.Duration `toml:"timeout"`      // wall clock
	IdleTimeout   time.Duration `toml:"idle_timeout"` // without progress
	Attempts      int           `toml:"attempts"`
	EqualFailures int           `toml:"equal_failures"` // in a row, which pause an agent; 0: never
	// MaxCheckAttempts is how often a run may complete its task with red checks:
	// the last of them goes to people.
	MaxCheckAttempts int           `toml:"max_check_attempts"`
	KeepTranscripts  time.Duration `toml:"keep_transcripts"`
}

// Claims says how long a claim holds without a heartbeat.
type Claims struct {
	Lease time.Duration `toml:"lease"`
}

// Budget is what the whole instance may use per UTC day; 0 means no limit.
type Budget struct {
	MaxCostUSDPerDay float64 `toml:"max_cost_usd_per_day"`
	MaxTokensPerDay  int     `toml:"max_tokens_per_day"`
}

// Approval says which runs a person must approve, unless the agent's
// definition says so itself, and for how long the question stays open.
type Approval struct {
	Policy  string        `toml:"policy"` // always, delegated or never
	Expires time.Duration `toml:"expires"`
}

// Checks are the commands that projects have the server run.
type Checks struct {
	AcceptWeaker bool `toml:"accept_weaker"` // run them although this machine cannot confine them
}

// TaskTool bounds delegation between agents.
type TaskTool struct {
	Enabled               bool `toml:"enabled"`
	MaxDepth              int  `toml:"max_depth"`
	DefaultTimeoutSeconds int  `toml:"default_timeout_seconds"`
	MaxTokens             int  `toml:"max_tokens"`
	EnableVerboseLogging  bool `toml:"enable_verbose_logging"`
	AllowModelOverride    bool `toml:"allow_model_override"`
	MaxPerHour            int  `toml:"max_per_hour"`
}

// Backup says when the instance is backed up and how many backups stay.
type Backup struct {
	Cron         string        `toml:"cron"`
	Keep         int           `toml:"keep"`
	After        []string      `toml:"after"` // program and arguments, started with the file of each backup; {file} is its name
	AfterTimeout time.Duration `toml:"after_timeout"`
}

// Provider is a model endpoint for runners of kind builtin.
type Provider struct {
	API          string           `toml:"api"` // openai or anthropic
	BaseURL      string           `toml:"base_url"`
	APIKeyEnv    string           `toml:"api_key_env"` // name of the variable that holds the key; "" for none
	Models       []string         `toml:"models"`      // empty: any
	DefaultModel string           `toml:"default_model"`
	PricePerMtok map[string]Price `toml:"price_per_mtok"` // by model
}

// Price is what a million tokens cost, in US dollars. Cached is that of tokens
// read from the provider's cache: the same as In where it is not given.
type Price struct{ In, Out, Cached float64 }

// Runner says how the agents that name it are started.
type Runner struct {
	Kind         string            `toml:"kind"`
	Command      []string          `toml:"command"`       // program and arguments
	Env          map[string]string `toml:"env"`           // added to the program's environment
	Workspace    string            `toml:"workspace"`     // absolute path of a folder, or worktree: and that of a repository; "" makes a folder per run
	AcceptWeaker bool              `toml:"accept_weaker"` // run although a limit cannot be enforced
	Confine      *bool             `toml:"confine"`       // of kind claude and acp: files are confined by landlock; nil is true
	Writable     []string          `toml:"writable"`      // of the same kinds: folders outside the workspace that may be written
	Network      bool              `toml:"network"`       // of kind codex: commands that may write may reach the network
	Provider     string            `toml:"provider"`      // of kind builtin; "" when only one is configured
	URL          string            `toml:"url"`           // of kind webhook
	SecretEnv    string            `toml:"secret_env"`    // variable that holds the signing secret (webhook) or the credential handed on (claude)
	AllowPrivate bool              `toml:"allow_private"` // of kind webhook: loopback and private addresses too
	Labels       []string          `toml:"labels"`        // of kind worker: what a worker must offer
}

// Notify is a service outside that is told what waits for a person.
type Notify struct {
	URLEnv string   `toml:"url_env"` // variable that holds its address
	Kinds  []string `toml:"kinds"`   // what it is told
}
