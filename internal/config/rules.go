package config

import (
	"time"

	"taskyard/task"
)

// Rules returns the rules of the service.
func (c *Config) Rules() task.Rules {
	return task.Rules{
		Lease: c.Claims.Lease, RunTimeout: c.Runs.Timeout, IdleTimeout: c.Runs.IdleTimeout,
		Attempts: c.Runs.Attempts, CheckAttempts: c.Runs.MaxCheckAttempts, EqualFailures: c.Runs.EqualFailures, MaxParallel: c.Runs.MaxParallel,
		TickConcurrency: c.Scheduler.Concurrency, WakeBudget: c.Scheduler.WakeBudgetPerHour,
		Wakes:  c.Scheduler.Enabled && c.Scheduler.WakeBudgetPerHour > 0,
		Policy: task.Policy(c.Approval.Policy), ApprovalExpires: c.Approval.Expires,
		Budget:          task.Budget{MaxCostUSD: c.Budget.MaxCostUSDPerDay, MaxTokens: c.Budget.MaxTokensPerDay},
		KeepTranscripts: c.Runs.KeepTranscripts, TaskTool: c.delegation(),
	}
}

// delegation returns the rules of delegation, with the models of the providers.
// There is a default model only if exactly one provider names one.
func (c *Config) delegation() task.DelegationRules {
	t := c.TaskTool
	rules := task.DelegationRules{
		Enabled: t.Enabled, MaxDepth: t.MaxDepth, Timeout: time.Duration(t.DefaultTimeoutSeconds) * time.Second, MaxTokens: t.MaxTokens,
		Verbose: t.EnableVerboseLogging, ModelOverride: t.AllowModelOverride, MaxPerHour: t.MaxPerHour,
	}
	for _, p := range c.Providers {
		rules.Models = append(rules.Models, p.Models...)
		rules.AnyModel = rules.AnyModel || len(p.Models) == 0
		if p.DefaultModel != "" {
			rules.Models = append(rules.Models, p.DefaultModel)
		}
		if len(c.Providers) == 1 {
			rules.DefaultModel = p.DefaultModel
		}
	}
	return rules
}
