package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Final returns the usage of a run that ends: what its runner reports at the
// end, but no fewer tokens and no less cost than reported before, unless those
// were estimated.
func (u Usage) Final(end Usage) Usage {
	if end == (Usage{}) {
		return u
	}
	if u.Estimated {
		return end
	}
	return Usage{
		ToolCalls: cmp.Or(end.ToolCalls, u.ToolCalls), TokensIn: max(u.TokensIn, end.TokensIn), TokensOut: max(u.TokensOut, end.TokensOut),
		CostUSD: max(u.CostUSD, end.CostUSD), TokensCached: max(u.TokensCached, end.TokensCached), Estimated: end.Estimated,
	}
}

// ReportedUsage is what a line of a transcript adds to the use of its run. Lines that
// are not as they should be add nothing: they are a program's own words.
func ReportedUsage(typ string, data []byte) Usage {
	switch typ {
	case "tool_call":
		return Usage{ToolCalls: 1}
	case "usage":
		var d struct {
			TokensIn     float64 `json:"tokensIn"`
			TokensOut    float64 `json:"tokensOut"`
			TokensCached float64 `json:"tokensCached"`
			CostUSD      float64 `json:"costUsd"`
			Estimated    bool    `json:"estimated"`
		}
		if json.Unmarshal(data, &d) == nil {
			return Usage{
				TokensIn: bounded(d.TokensIn), TokensOut: bounded(d.TokensOut), TokensCached: bounded(d.TokensCached),
				CostUSD: min(max(d.CostUSD, 0), 1e9), Estimated: d.Estimated,
			}
		}
	}
	return Usage{}
}

func bounded(n float64) int { return int(min(max(n, 0), 1e12)) }

// Over returns which limit of a run its use is over, in a sentence; "" when none.
func (l Limits) Over(u Usage) (Phase, string) {
	switch {
	case l.MaxTokens > 0 && u.Tokens() > l.MaxTokens:
		return PhaseTokens, fmt.Sprintf("It used %d tokens of at most %d", u.Tokens(), l.MaxTokens)
	case l.MaxCostUSD > 0 && u.CostUSD > l.MaxCostUSD:
		return PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", u.CostUSD, l.MaxCostUSD)
	}
	return "", ""
}

// Budget is what an agent, or the whole instance, may use a day, UTC, and what it
// has used today. Zero bounds are none.
type Budget struct {
	Agent      string  `json:"agent,omitempty" doc:"absent: the whole server"`
	MaxTokens  int     `json:"maxTokensPerDay,omitzero"`
	MaxCostUSD float64 `json:"maxCostUsdPerDay,omitzero"`
	Tokens     int     `json:"tokens"`
	CostUSD    float64 `json:"costUsd"`
	Estimated  bool    `json:"estimated,omitzero" doc:"true: partly estimated by a runner"`
	Until      Time    `json:"until" doc:"start of the next day"`
}

// Set reports whether there is a bound at all.
func (b *Budget) Set() bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 }

// Over returns the phase of a run that ends because nothing is left, "" while
// something is.
func (b *Budget) Over() Phase {
	switch {
	case b.MaxCostUSD > 0 && b.CostUSD >= b.MaxCostUSD:
		return PhaseCost
	case b.MaxTokens > 0 && b.Tokens >= b.MaxTokens:
		return PhaseTokens
	}
	return ""
}

// Message says how much of what is used up, and until when.
func (b *Budget) Message() string { return b.Spent() + ", until 00:00 UTC" }

// Spent says how much of what is used up.
func (b *Budget) Spent() string {
	amount := fmt.Sprintf("%d of %d tokens", b.Tokens, b.MaxTokens)
	if b.Over() == PhaseCost {
		amount = fmt.Sprintf("$%.2f of $%.2f", b.CostUSD, b.MaxCostUSD)
	}
	if b.Estimated {
		amount += " (in part estimated)"
	}
	return "budget of " + cmp.Or(b.Agent, "the server") + " for today is used up: " + amount
}

// StartOfDay returns the start of the UTC day that contains t.
func StartOfDay(t Time) Time { return TimeFromStd(t.Std().UTC().Truncate(24 * time.Hour)) }

// UsageRow is what a day, an agent, a model, a task or a run used.
type UsageRow struct {
	Key       string  `json:"key" doc:"day such as 2026-01-31 (UTC), agent id, model, task id, or run id"`
	Title     string  `json:"title,omitempty" doc:"title of the task, when grouped by task or run"`
	Runs      int     `json:"runs" doc:"runs that ended"`
	ToolCalls int     `json:"toolCalls"`
	TokensIn  int     `json:"tokensIn"`
	TokensOut int     `json:"tokensOut"`
	CostUSD   float64 `json:"costUsd"`
	Estimated bool    `json:"estimated" doc:"true: partly estimated by a runner"`
}

// UsageReport is the use within a time, by something.
type UsageReport struct {
	By      string     `json:"by" enum:"day,agent,model,project,task,run"`
	From    Time       `json:"from"`
	To      Time       `json:"to"`
	Rows    []UsageRow `json:"rows" doc:"days in order; other groups most expensive first, at most 500"`
	Total   UsageRow   `json:"total" doc:"total of these rows"`
	Budgets []Budget   `json:"budgets" doc:"the budgets of the day, and how much of them is used"`
}

// Turn is the most that the next turn of a model can use: tokens read, tokens
// of the reply, and what both cost in US dollars, 0 where that is not known.
type Turn struct {
	In, Out         int
	CostIn, CostOut float64
}

// Usage returns what the turn can use with a reply of out tokens.
func (t Turn) Usage(out int) (tokens int, cost float64) {
	if t.Out > 0 {
		cost = t.CostOut * float64(out) / float64(t.Out)
	}
	return t.In + out, t.CostIn + cost
}

// Fit returns how many tokens the reply may have, so that the turn fits what
// limits leave of what is used and held, at least 0, and which limit bounds it
// most.
func (t Turn) Fit(l Limits, tokens int, cost float64) (out int, by Phase) {
	out = t.Out
	if left := l.MaxTokens - tokens - t.In; l.MaxTokens > 0 && left < out {
		out, by = left, PhaseTokens
	}
	if left := l.MaxCostUSD - cost - t.CostIn; l.MaxCostUSD > 0 && left < t.CostOut*float64(out)/float64(max(t.Out, 1)) {
		out, by = int(max(0, left)/max(t.CostOut, 1e-12)*float64(t.Out)), PhaseCost
	}
	return max(0, out), by
}

// TurnGrant is how many tokens the reply of a turn may have; or, with a phase
// and a reason, that a limit leaves no room for the turn.
type TurnGrant struct {
	Out    int
	Phase  Phase
	Reason string
}
