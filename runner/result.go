package runner

import (
	"encoding/json"
	"math"
	"strings"
)

// result is the structured result of a program.
type result struct {
	summary   string
	success   *bool
	artifacts []string
	malformed bool // success is there, but neither true nor false
}

// addUsage adds what a usage event says, and stops the program over a limit.
func (p *protocol) addUsage(data json.RawMessage) {
	var u struct {
		TokensIn  float64 `json:"tokensIn"`
		TokensOut float64 `json:"tokensOut"`
		CostUSD   float64 `json:"costUsd"`
	}
	if json.Unmarshal(data, &u) != nil {
		return
	}
	p.usage.TokensIn = addCount(p.usage.TokensIn, u.TokensIn)
	p.usage.TokensOut = addCount(p.usage.TokensOut, u.TokensOut)
	p.usage.CostUSD = math.Min(p.usage.CostUSD+math.Max(u.CostUSD, 0), 1e9)
	p.checkUsage()
}

// addCount adds a number that a program gave, whatever it is.
func addCount(sum int, n float64) int {
	const most = 1e12
	return min(sum+int(math.Min(math.Max(n, 0), most)), most)
}

// resultOf reads a result; nil when the object is none.
func (p *protocol) resultOf(fields map[string]json.RawMessage) *result {
	var res result
	found := false
	if json.Unmarshal(fields["summary"], &res.summary) == nil {
		found, res.summary = true, strings.TrimSpace(clean(p.red.Text(res.summary)))
	}
	if raw, ok := fields["success"]; ok {
		found, res.malformed = true, json.Unmarshal(raw, &res.success) != nil || res.success == nil
	}
	if json.Unmarshal(fields["artifacts"], &res.artifacts) == nil {
		found = true
		for i, a := range res.artifacts {
			res.artifacts[i] = clean(p.red.Text(a))
		}
	}
	if !found {
		return nil
	}
	return &res
}
