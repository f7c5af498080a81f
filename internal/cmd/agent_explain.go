//go:build !windows

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"taskyard/internal/client"
	"taskyard/task"
)

// sayVerdict prints a symbol and the file, then each problem with line, reason
// and hint.
func sayVerdict(w io.Writer, v *verdict) {
	mark := map[task.AgentStatus]string{task.AgentValid: "✓", task.AgentWarning: "⚠", task.AgentInvalid: "✗"}[v.Status]
	fmt.Fprintf(w, "%s %s: %s\n", mark, client.Printable(v.File), v.Status)
	for _, p := range v.Problems {
		fmt.Fprintf(w, "  %s\n", client.ProblemLine(p))
	}
}

// explain prints what the agent is, and what it may do.
func (v *verdict) explain(w io.Writer) {
	enforced := ""
	if v.Enforced && !v.PullOnly {
		enforced = "its runner refuses all others"
	}
	client.Fields(w,
		"agent", v.ID, "what", v.Description, "tools", joinOrNone(v.Tools), "enforced", enforced, "beyond them", v.EnforcementGap,
		"never granted", strings.Join(v.UnknownTools, " "), "runner", v.runner(), "model", v.model(), "limits", v.limits(),
		"per day", strings.Join(spending(v.MaxTokensPerDay, v.MaxCostUSDPerDay), ", "), "approval", string(v.Approval),
		"may use", joinOrNone(v.Capabilities), "workspace", v.Workspace, "variables", strings.Join(v.Env, " "))
}

func joinOrNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}

func (v *verdict) runner() string {
	switch {
	case v.PullOnly:
		return v.Runner + ", not started by Taskyard: " + v.PullReason
	case v.Kind == "":
		return v.Runner + " (not checked)"
	case v.Kind != "" && v.Kind != v.Runner:
		return v.Runner + ", of kind " + v.Kind
	}
	return v.Runner
}

func (v *verdict) model() string {
	s := cmp.Or(v.Model, "runner default")
	for _, level := range task.Complexities {
		if m := v.Models[level]; m != "" {
			s += ", " + level + ": " + m
		}
	}
	return s
}

func (v *verdict) limits() string {
	second := func(n int) string { return shortDuration(time.Duration(n) * time.Second) }
	parts := []string{second(v.TimeoutSeconds), second(v.IdleTimeoutSeconds) + " without progress"}
	if v.MaxTurns > 0 {
		parts = append(parts, fmt.Sprintf("%d turns", v.MaxTurns))
	}
	parts = append(parts, spending(v.MaxTokens, v.MaxCostUSD)...)
	return strings.Join(append(parts, fmt.Sprintf("%d at a time", v.MaxParallel)), ", ")
}

func spending(tokens int, usd float64) (list []string) {
	if tokens > 0 {
		list = append(list, fmt.Sprintf("%d tokens", tokens))
	}
	if usd > 0 {
		list = append(list, dollars(usd))
	}
	return list
}

// shortDuration formats a duration without zero units: 5m, 2h, 1h30m.
func shortDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n >= 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}

// dollars formats an amount; 0 means no limit.
func dollars(v float64) string {
	if v == 0 {
		return "no bound"
	}
	return fmt.Sprintf("$%.2f", v)
}
