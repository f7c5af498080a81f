package app

import (
	"regexp"
	"time"

	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// serviceConfig returns the rules of the configuration.
func serviceConfig(c *config.Config, o Options, ticks func(task.Time) task.Time) service.Config {
	cfg := service.Config{
		Now: o.Now, Log: o.Log, Workers: workersOf(c), Webhooks: webhooksOf(c), Runners: runnerDefaults(c), Notify: notifyTargets(c),
		Secrets: func(names []string) []string {
			return append(secretsOf(c, o.Getenv), supervise.SecretsNamed(names)...)
		},
	}
	alterRules(&cfg, c, ticks)
	return cfg
}

// alterRules puts the settings of the configuration, which may change while the server
// runs, into the rules.
func alterRules(to *service.Config, c *config.Config, ticks func(task.Time) task.Time) {
	to.Lease, to.RunTimeout, to.IdleTimeout = c.Claims.Lease, c.Runs.Timeout, c.Runs.IdleTimeout
	to.Attempts, to.EqualFailures, to.MaxParallel = c.Runs.Attempts, c.Runs.EqualFailures, c.Runs.MaxParallel
	to.TickConcurrency, to.WakeBudget = c.Scheduler.Concurrency, c.Scheduler.WakeBudgetPerHour
	to.Wakes = c.Scheduler.Enabled && c.Scheduler.WakeBudgetPerHour > 0
	to.Policy, to.ApprovalExpires = task.Policy(c.Approval.Policy), c.Approval.Expires
	to.Budget = task.Budget{MaxCostUSD: c.Budget.MaxCostUSDPerDay, MaxTokens: c.Budget.MaxTokensPerDay}
	to.TaskTool, to.KeepTranscripts, to.Ticks = taskTool(c), c.Runs.KeepTranscripts, ticks
}

// workersOf lists the runners that workers execute, with their labels.
func workersOf(c *config.Config) map[string][]string {
	list := map[string][]string{}
	for name, r := range c.Runners {
		if runnerKind(c, name).Place == runner.Worker {
			list[name] = r.Labels
		}
	}
	return list
}

// webhooksOf lists the runners whose receivers report over the API.
func webhooksOf(c *config.Config) map[string]bool {
	list := map[string]bool{}
	for name := range c.Runners {
		list[name] = runnerKind(c, name).Place == runner.Receiver
	}
	return list
}

// taskTool returns the rules of delegation, with the models of the providers. A
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

// secretsOf lists the values that must never be in a transcript.
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
