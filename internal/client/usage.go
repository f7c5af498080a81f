package client

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"taskyard/task"
)

// UsageReport prints usage totals.
type UsageReport struct {
	By   string `help:"Group by day, agent, model, project, task or run." enum:"day,agent,model,project,task,run" default:"day"`
	From string `help:"From this moment, such as 2026-01-01T00:00:00Z (default 30 days before --to)." placeholder:"TIME"`
	To   string `help:"Up to this moment (default now)." placeholder:"TIME"`

	JSON JSONFlag `name:"json" help:"Print JSON."`
}

// Run prints the sums, the total, and how much of today's budgets is used.
func (c *UsageReport) Run(e *Env) error {
	q := params{}.set("by", c.By).set("from", c.From).set("to", c.To)
	return printCall(e, "GET", q.appendTo("/api/usage"), nil, func(out *task.UsageReport) {
		head := []string{strings.ToUpper(c.By), "RUNS", "CALLS", "TOKENS IN", "OUT", "COST"}
		titled := c.By == "task" || c.By == "run"
		if titled {
			head = append(head, "TITLE")
		}
		rows := make([][]string, 0, len(out.Rows)+1)
		for _, r := range append(out.Rows, out.Total) {
			cells := usageCells(r)
			if titled {
				cells = append(cells, r.Title)
			}
			rows = append(rows, cells)
		}
		e.table(head, rows)
		if len(out.Budgets) > 0 {
			e.say("\nBudgets of today, until 00:00 UTC:")
		}
		for _, b := range out.Budgets {
			e.say("  %s", printable(describeBudget(b)))
		}
	})
}

func usageCells(r task.UsageRow) []string {
	mark := approx(r.Estimated)
	return []string{
		cmp.Or(r.Key, "(none)"), strconv.Itoa(r.Runs), strconv.Itoa(r.ToolCalls), mark + strconv.Itoa(r.TokensIn),
		mark + strconv.Itoa(r.TokensOut), mark + usd(r.CostUSD),
	}
}

// approx marks figures that are partly estimated.
func approx(estimated bool) string {
	if estimated {
		return "≈"
	}
	return ""
}

func usd(v float64) string {
	if v > 0 && v < 0.01 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// describeBudget returns how much of a budget is used: "coder: $1.20 of $5.00".
func describeBudget(b task.Budget) string {
	words, mark := cmp.Or(b.Agent, instance), approx(b.Estimated)
	sep := ": "
	if b.MaxCostUSD > 0 {
		words += sep + mark + usd(b.CostUSD) + " of " + usd(b.MaxCostUSD)
		sep = ", "
	}
	if b.MaxTokens > 0 {
		words += fmt.Sprintf("%s%s%d of %d tokens", sep, mark, b.Tokens, b.MaxTokens)
	}
	if b.Over() != "" {
		words += " (used up)"
	}
	return words
}
