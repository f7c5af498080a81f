package views

import (
	"cmp"
	"slices"

	"taskyard/task"
	"taskyard/views/ui"
)

// approx marks a figure that is partly estimated.
func approx(estimated bool, figure string) string {
	if estimated {
		return "≈ " + figure
	}
	return figure
}

// formatTokens formats the tokens of a usage.
func formatTokens(u task.Usage) string { return approx(u.Estimated, ui.Tokens(u.Tokens())) }

// formatCost formats the cost of a usage.
func formatCost(u task.Usage) string { return approx(u.Estimated, ui.Money(u.CostUSD)) }

// budgetBars compares the budgets of a day with their usage.
func budgetBars(list []task.Budget) []limitBar {
	var out []limitBar
	add := func(b *task.Budget, what, used, full string, v, f float64) {
		if f <= 0 {
			return
		}
		name := cmp.Or(b.Agent, "All agents")
		out = append(out, limitBar{name + ", " + what, approx(b.Estimated, used), full, min(v, f), f, v >= 0.8*f})
	}
	for i := range list {
		b := &list[i]
		add(b, "cost", ui.Money(b.CostUSD), ui.Money(b.MaxCostUSD), b.CostUSD, b.MaxCostUSD)
		add(b, "tokens", ui.Tokens(b.Tokens), ui.Tokens(b.MaxTokens), float64(b.Tokens), float64(b.MaxTokens))
	}
	return out
}

// usedUpBudget returns a budget that is used up, so that no more runs start today, or
// nil.
func usedUpBudget(list []task.Budget) *task.Budget {
	for i := range list {
		if list[i].Over() != "" {
			return &list[i]
		}
	}
	return nil
}

// LimitsModel is the settings page of limits and budgets.
type LimitsModel struct {
	Budgets []task.Budget
	Usage   []task.UsageReport // by agent, by model, by day: the last 30 days
	Limits  []Limit            // of the configuration
	Quotas  []Limit            // per token and per person
	Conns   []Limit
}

// Limit is one limit that the server enforces.
type Limit struct {
	Key   string // its key in taskyard.toml, in errors or in metrics; "": none
	Value string
	About string // what it limits, in words
}

// usageTitle returns the heading of a usage table.
func usageTitle(by string) string {
	return map[string]string{"agent": "By agent", "model": "By model", "day": "By day"}[by]
}

// usageKey returns the name of a usage row.
func usageKey(by, key string) string {
	if key == "" {
		return map[string]string{"model": "runner default"}[by]
	}
	return key
}

// newest returns at most most rows of a report, days newest first.
func newest(u *task.UsageReport, limit int) []task.UsageRow {
	rows := slices.Clone(u.Rows)
	if u.By == "day" {
		slices.Reverse(rows)
	}
	return rows[:min(len(rows), limit)]
}
