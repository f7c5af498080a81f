package views

import (
	"cmp"
	"slices"

	"taskyard/task"
	"taskyard/views/ui"
)

// approx marks a figure that is partly an estimate of a runner.
func approx(estimated bool, figure string) string {
	if estimated {
		return "≈ " + figure
	}
	return figure
}

// formatTokens formats the tokens of a use.
func formatTokens(u task.Usage) string { return approx(u.Estimated, ui.Tokens(u.Tokens())) }

// formatCost formats the cost of a use.
func formatCost(u task.Usage) string { return approx(u.Estimated, ui.Money(u.CostUSD)) }

// budgetBars compares the budgets of a day with what is used of them.
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

// spent returns a budget that is used up, so that nothing starts today, or nil.
func spent(list []task.Budget) *task.Budget {
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
	Quotas  []Limit            // of each token and each person
	Conns   []Limit
}

// Limit is one limit that the server keeps.
type Limit struct {
	Key   string // as in taskyard.toml, in errors or in the metrics; "" has none
	Value string
	About string // what it bounds, in words
}

// usageTitle heads a table of use.
func usageTitle(by string) string {
	return map[string]string{"agent": "By agent", "model": "By model", "day": "By day"}[by]
}

// usageKey names a row of use.
func usageKey(by, key string) string {
	if key == "" {
		return map[string]string{"model": "runner default"}[by]
	}
	return key
}

// newest returns the rows of a report, days the newest first, at most so many.
func newest(u *task.UsageReport, most int) []task.UsageRow {
	rows := slices.Clone(u.Rows)
	if u.By == "day" {
		slices.Reverse(rows)
	}
	return rows[:min(len(rows), most)]
}
