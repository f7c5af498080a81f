package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/instance"
	"taskyard/runner/workspace"
	"taskyard/service"
	"taskyard/task"
)

// settings are the flags that every command on the data folder takes.
type settings struct {
	Data   string            `help:"Data folder (default ./data)." placeholder:"DIR"`
	Config string            `help:"Configuration file (default taskyard.toml in the data folder)." placeholder:"FILE"`
	Set    map[string]string `help:"Any key of the configuration, such as --set scheduler.concurrency=2." placeholder:"KEY=VALUE"`
}

func (s settings) load(e *env, more map[string]string) (*config.Config, config.Sources, error) {
	flags := map[string]string{}
	for k, v := range s.Set {
		flags[k] = v
	}
	if s.Data != "" {
		flags["data"] = s.Data
	}
	for k, v := range more {
		flags[k] = v
	}
	c, src, err := config.Load(config.LoadOptions{File: s.Config, Environ: e.environ, Flags: flags, Workspace: workspace.CheckApart})
	if err != nil {
		return nil, nil, &usageError{"configuration: " + err.Error()}
	}
	return c, src, nil
}

// yard is an opened data folder.
type yard struct {
	cfg    *config.Config
	log    *slog.Logger
	db     *db.DB
	agents *agentfile.Folder
	svc    *service.Service
	known  map[string]runner.Runner
	hangup <-chan struct{} // the definitions are to be read again

	release func() // of the protection of the data folder
}

func dbPath(data string) string { return filepath.Join(data, "taskyard.db") }

// backupDir is where scheduled backups are.
func backupDir(data string) string { return filepath.Join(data, "backups") }

// makeData makes the data folder, for its owner alone.
func makeData(dir string) error {
	syscall.Umask(0o077)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if !ownFolder(dir) {
			return fmt.Errorf("data folder %s is open to others and holds other things than a yard: give it a folder of its own with --data", dir)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("data folder %s is open to others: %w", dir, err)
		}
	}
	return nil
}

// ownFolder tells whether a folder is empty or holds a yard: any other, such
// as /tmp, must not be closed to others.
func ownFolder(dir string) bool {
	list, err := os.ReadDir(dir)
	for _, f := range list {
		switch f.Name() {
		case filepath.Base(dbPath(dir)), "taskyard.toml", "agents", demoMark:
			return true
		}
	}
	return err == nil && len(list) == 0
}

// openYard opens the store and the agents of a data folder.
func openYard(ctx context.Context, c *config.Config, log *slog.Logger) (*yard, error) {
	if err := makeData(c.Data); err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, db.Options{Path: dbPath(c.Data), Now: wallClock, Log: log})
	if err != nil {
		return nil, err
	}
	y := &yard{cfg: c, log: log, db: d}
	if y.release, err = instance.Protect(dbPath(c.Data)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	y.known = runnersOf(c)
	y.agents, err = agentfile.Open(filepath.Join(c.Data, "agents"), agentOptions(c), log)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	rules := serviceConfig(c, log)
	if rules.Ticks, err = ticksOf(c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	rules.Secrets = func(names []string) []string {
		return append(secretsOf(c, os.Getenv), runner.SecretsNamed(names)...)
	}
	y.svc = service.New(d, y.agents, rules)
	return y, nil
}

func (y *yard) close() error {
	y.release()
	return y.db.Close()
}

// runnersOf makes the runners that this program knows how to start.
func runnersOf(c *config.Config) map[string]runner.Runner {
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

func agentOptions(c *config.Config) agentfile.Options {
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

func serviceConfig(c *config.Config, log *slog.Logger) service.Config {
	return service.Config{
		Now: wallClock, Log: log, Lease: c.Claims.Lease, RunTimeout: c.Runs.Timeout, IdleTimeout: c.Runs.IdleTimeout, Attempts: c.Runs.Attempts, EqualFailures: equalFailures(c),
		MaxParallel: c.Runs.MaxParallel, TickConcurrency: c.Scheduler.Concurrency, WakeBudget: c.Scheduler.WakeBudgetPerHour,
		Wakes: c.Scheduler.Enabled && c.Scheduler.WakeBudgetPerHour > 0, Policy: task.Policy(c.Approval.Policy), ApprovalExpires: c.Approval.Expires,
		Budget:  task.Budget{MaxCostUSD: c.Budget.MaxCostUSDPerDay, MaxTokens: c.Budget.MaxTokensPerDay},
		Workers: workersOf(c), Webhooks: webhooksOf(c), TaskTool: taskTool(c), KeepTranscripts: c.Runs.KeepTranscripts, Runners: runnerDefaults(c),
		Notify: notifyTargets(c),
	}
}

// equalFailures is how many in a row pause an agent; the service takes a
// negative number for never.
func equalFailures(c *config.Config) int {
	if c.Runs.EqualFailures == 0 {
		return -1
	}
	return c.Runs.EqualFailures
}

// workersOf lists the runners that workers carry out, with their labels.
func workersOf(c *config.Config) map[string][]string {
	list := map[string][]string{}
	for name, r := range c.Runners {
		if r.Kind == "worker" {
			list[name] = r.Labels
		}
	}
	return list
}

// webhooksOf lists the runners whose receivers report over the API.
func webhooksOf(c *config.Config) map[string]bool {
	list := map[string]bool{}
	for name, r := range c.Runners {
		list[name] = r.Kind == "webhook"
	}
	return list
}

// taskTool tells the rules of delegation, with the models of the providers. A
// default model is one only where a single provider names one.
func taskTool(c *config.Config) *service.TaskTool {
	t := c.TaskTool
	tool := &service.TaskTool{
		Enabled: t.Enabled, MaxDepth: t.MaxDepth, Timeout: time.Duration(t.DefaultTimeoutSeconds) * time.Second, MaxTokens: t.MaxTokens,
		Verbose: t.EnableVerboseLogging, ModelOverride: t.AllowModelOverride, MaxPerHour: t.MaxPerHour,
	}
	for _, p := range c.Providers {
		tool.Models = append(tool.Models, p.Models...)
		tool.AnyModel = tool.AnyModel || len(p.Models) == 0
		if p.DefaultModel != "" {
			tool.Models = append(tool.Models, p.DefaultModel)
		}
		if len(c.Providers) == 1 {
			tool.DefaultModel = p.DefaultModel
		}
	}
	return tool
}

// ticksOf is the plan of the ticks, nil where there are none.
func ticksOf(c *config.Config) (func(task.Time) task.Time, error) {
	if !c.Scheduler.Enabled {
		return nil, nil
	}
	loc, err := c.Scheduler.Location()
	if err != nil {
		return nil, err
	}
	return jobs.Ticks(c.Scheduler.Cron, loc)
}

// secretName fits the names of variables whose values are secrets.
var secretName = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASSWORD`)

// secretsOf lists the values that must never stand in a transcript.
func secretsOf(c *config.Config, getenv func(string) string) []string {
	var list []string
	for _, p := range c.Providers {
		list = append(list, getenv(p.APIKeyEnv))
	}
	for _, n := range c.Notify {
		list = append(list, getenv(n.URLEnv))
	}
	for _, r := range c.Runners {
		list = append(list, getenv(r.SecretEnv))
		for k, v := range r.Env {
			if secretName.MatchString(k) {
				list = append(list, v)
			}
		}
	}
	return list
}

// yardID tells this yard's processes from those of another on the machine.
func yardID(data string) (string, error) {
	file := filepath.Join(data, "yard-id")
	b, err := os.ReadFile(file)
	if err == nil && len(strings.TrimSpace(string(b))) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := rand.Text()
	return id, os.WriteFile(file, []byte(id+"\n"), 0o600)
}

func newLogger(e *env, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewJSONHandler(e.stderr, &slog.HandlerOptions{Level: l}))
}
