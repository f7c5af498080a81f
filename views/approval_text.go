package views

import (
	"cmp"

	"github.com/a-h/templ"

	"taskyard/static"
	"taskyard/task"
	"taskyard/views/ui"
)

// version returns the hash that a decision must contain.
func (d *ApprovalDetail) version() string {
	if d.Run.Approval == nil {
		return ""
	}
	return d.Run.Approval.Version
}

// taskTitle returns the title of a run's task, or its number if the title is
// unknown.
func taskTitle(r *task.Run) string { return cmp.Or(r.TaskTitle, "Task #"+r.TaskID.String()) }

func currentIf(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

func iconRef(name string) string { return static.URL("icons.svg") + "#i-" + name }

// limitStep returns the step size of a limit.
func limitStep(name string) string {
	if name == "maxCostUsd" {
		return "any"
	}
	return "1"
}

// limitAttrs returns the attributes of a field for a tighter limit, with the
// current one as placeholder.
func limitAttrs(name string, limit float64) templ.Attributes {
	a := templ.Attributes{"min": "1", "placeholder": "no limit"}
	if name == "maxCostUsd" {
		a["min"] = "0"
	}
	if limit > 0 {
		a["max"], a["placeholder"] = number(limit), number(limit)
	}
	return a
}

func limitMoney(usd float64) string {
	if usd == 0 {
		return "none"
	}
	return ui.Money(usd)
}

// runStateText returns the state of a run as a sentence.
func runStateText(r *task.Run, now task.Time) string {
	_, words := runPill(r, now)
	return words + "."
}

// usageSummary is the usage of recent runs, for comparison.
type usageSummary struct {
	Label, Range string
	MaxTokens    int
}

// typicalUsage summarizes the usage of recent runs: dollars if prices are known,
// else tokens, else tool calls.
func typicalUsage(runs []task.Run) usageSummary {
	runs = lastRuns(runs)
	var tokens, calls [2]int
	var cost [2]float64
	guess := false
	for i := range runs {
		u := runs[i].Usage
		guess = guess || u.Estimated
		if i == 0 {
			tokens = [2]int{u.TokensIn + u.TokensOut, u.TokensIn + u.TokensOut}
			calls, cost = [2]int{u.ToolCalls, u.ToolCalls}, [2]float64{u.CostUSD, u.CostUSD}
		}
		t := u.TokensIn + u.TokensOut
		tokens = [2]int{min(tokens[0], t), max(tokens[1], t)}
		calls = [2]int{min(calls[0], u.ToolCalls), max(calls[1], u.ToolCalls)}
		cost = [2]float64{min(cost[0], u.CostUSD), max(cost[1], u.CostUSD)}
	}
	switch {
	case cost[1] > 0:
		return usageSummary{"Cost of its last runs", approx(guess, span(ui.Money(cost[0]), ui.Money(cost[1]))), tokens[1]}
	case tokens[1] > 0:
		return usageSummary{"Tokens of its last runs", approx(guess, span(ui.Tokens(tokens[0]), ui.Tokens(tokens[1]))), tokens[1]}
	}
	return usageSummary{"Tool calls of its last runs", span(ui.Tokens(calls[0]), ui.Tokens(calls[1])), 0}
}

func span(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}
