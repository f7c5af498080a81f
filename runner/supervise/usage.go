package supervise

import (
	"encoding/json"
	"fmt"
	"math"

	"taskyard/task"
)

// AddUsage adds {"tokensIn":1,"tokensOut":2,"costUsd":0.01}, each optional, and
// stops the run if it exceeds a limit. Other data is ignored.
func (r *Run) AddUsage(data json.RawMessage) {
	var u struct {
		TokensIn  float64 `json:"tokensIn"`
		TokensOut float64 `json:"tokensOut"`
		CostUSD   float64 `json:"costUsd"`
	}
	if json.Unmarshal(data, &u) != nil {
		return
	}
	r.Usage.TokensIn = AddTokens(r.Usage.TokensIn, u.TokensIn)
	r.Usage.TokensOut = AddTokens(r.Usage.TokensOut, u.TokensOut)
	r.Usage.CostUSD = BoundCost(r.Usage.CostUSD + math.Max(u.CostUSD, 0))
	r.CheckUsage()
}

// AddTokens adds a number from a program to a sum: negative numbers count as 0,
// and the sum is at most 10^12.
func AddTokens(sum int, n float64) int {
	const limit = 1e12
	return min(sum+int(math.Min(math.Max(n, 0), limit)), limit)
}

// BoundCost limits a cost from a program, in US dollars, to 0 to 10^9.
func BoundCost(usd float64) float64 { return math.Min(math.Max(usd, 0), 1e9) }

// CheckUsage stops the run if its usage exceeds a limit.
func (r *Run) CheckUsage() {
	limits := r.Spec.Plan.Limits
	if used, limit := r.Usage.TokensIn+r.Usage.TokensOut, limits.MaxTokens; limit > 0 && used > limit {
		r.Stop(Failed(task.PhaseTokens, fmt.Sprintf("It used %d tokens of at most %d", used, limit)))
	}
	if used, limit := r.Usage.CostUSD, limits.MaxCostUSD; limit > 0 && used > limit {
		r.Stop(Failed(task.PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", used, limit)))
	}
}
