package app

import (
	"fmt"
	"strconv"
	"time"

	"taskyard/handlers"
	"taskyard/internal/config"
)

// limitsOf lists what the configuration bounds, as the settings show it.
func limitsOf(c *config.Config) []handlers.Limit {
	onOff := map[bool]string{true: "yes", false: "no"}
	return []handlers.Limit{
		{Key: "runs.max_parallel", Value: strconv.Itoa(c.Runs.MaxParallel), About: "runs at the same time, in all"},
		{Key: "runs.timeout", Value: FormatDuration(c.Runs.Timeout), About: "time of a run"},
		{Key: "runs.idle_timeout", Value: FormatDuration(c.Runs.IdleTimeout), About: "time of a run without progress"},
		{Key: "runs.attempts", Value: strconv.Itoa(c.Runs.Attempts), About: "failures in a row until a task needs a person"},
		{Key: "runs.equal_failures", Value: orNever(c.Runs.EqualFailures), About: "equal failures in a row that pause an agent"},
		{Key: "scheduler.concurrency", Value: strconv.Itoa(c.Scheduler.Concurrency), About: "runs of one tick at a time"},
		{Key: "scheduler.wake_budget_per_hour", Value: strconv.Itoa(c.Scheduler.WakeBudgetPerHour), About: "wakes of a task within an hour"},
		{Key: "claims.lease", Value: FormatDuration(c.Claims.Lease), About: "time that a claim holds without a heartbeat"},
		{Key: "approval.policy", Value: c.Approval.Policy, About: "runs that a person must approve"},
		{Key: "approval.expires", Value: FormatDuration(c.Approval.Expires), About: "time to decide before a run is denied"},
		{Key: "budget.max_cost_usd_per_day", Value: FormatCost(c.Budget.MaxCostUSDPerDay), About: "cost of the whole instance per day"},
		{Key: "budget.max_tokens_per_day", Value: orNone(c.Budget.MaxTokensPerDay), About: "tokens of the whole instance per day"},
		{Key: "task_tool.enabled", Value: onOff[c.TaskTool.Enabled], About: "agents may delegate"},
		{Key: "task_tool.max_depth", Value: strconv.Itoa(c.TaskTool.MaxDepth), About: "depth of delegation"},
		{
			Key: "task_tool.default_timeout_seconds", Value: FormatDuration(time.Duration(c.TaskTool.DefaultTimeoutSeconds) * time.Second),
			About: "time of a delegated run",
		},
		{Key: "task_tool.max_tokens", Value: strconv.Itoa(c.TaskTool.MaxTokens), About: "tokens of a delegated run"},
		{Key: "task_tool.max_per_hour", Value: strconv.Itoa(c.TaskTool.MaxPerHour), About: "delegations of an agent within an hour"},
		{
			Key: "task_tool.allow_model_override", Value: onOff[c.TaskTool.AllowModelOverride],
			About: "agents may name the model of what they delegate",
		},
	}
}

// FormatDuration writes a duration without units that are zero: 5m, 2h, 1h30m.
func FormatDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n >= 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}

func orNever(n int) string {
	if n == 0 {
		return "never"
	}
	return strconv.Itoa(n)
}

func orNone(n int) string {
	if n == 0 {
		return "no bound"
	}
	return strconv.Itoa(n)
}

// FormatCost writes an amount in US dollars; 0 is no bound.
func FormatCost(v float64) string {
	if v == 0 {
		return "no bound"
	}
	return fmt.Sprintf("$%.2f", v)
}
