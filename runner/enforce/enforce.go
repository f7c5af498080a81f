// Package enforce describes which parts of a run's plan a runner enforces:
// tools, files, network and limits.
package enforce

import (
	"fmt"
	"slices"
	"strconv"

	"taskyard/task"
)

// Level says whether something is enforced, and by what, or why not.
type Level struct {
	task.EnforcementLevel
	how string
}

// Yes returns the level of something that is enforced, and by what.
func Yes(how string) Level { return Level{task.Enforced, how} }

// Partly returns the level of something that is partly enforced, and by what.
func Partly(how string) Level { return Level{task.PartlyEnforced, how} }

// No returns the level of something that is not enforced, and why.
func No(how string) Level { return Level{task.NotEnforced, how} }

// If returns Yes or No.
func If(ok bool, how string) Level {
	if ok {
		return Yes(how)
	}
	return No(how)
}

// SameForAll returns the same level for all tools.
func SameForAll(l Level) func(string) Level { return func(string) Level { return l } }

// Levels holds what a runner enforces of one spec on this machine.
type Levels struct {
	Tool                      func(name string) Level // of a tool that is not allowed
	Files, Network            Level
	Time, Tokens, Turns, Cost Level
}

// List returns the tools and limits of a spec, each once, and how they are
// enforced.
func (h Levels) List(plan task.Spec) (list []task.Enforcement) {
	for _, tool := range task.KnownTools {
		l := h.Tool(tool)
		if tool == "task" { // delegation rights are checked by the server, for every program
			l = Yes("Taskyard refuses it")
		}
		list = append(list, toolEnforcement(tool, slices.Contains(plan.Tools, tool), l))
	}
	for _, tool := range plan.Tools {
		if !slices.Contains(task.KnownTools, tool) {
			list = append(list, toolEnforcement(tool, true, Level{}))
		}
	}
	network, level := "closed", h.Network
	if plan.Network {
		network, level = "open", Level{task.NotAsked, ""}
	}
	list = append(list, task.Enforcement{
		What: "files", Asked: "writes only in its workspace",
		Level: h.Files.EnforcementLevel, How: h.Files.how,
	},
		task.Enforcement{What: "network", Asked: network, Level: level.EnforcementLevel, How: level.how})
	addLimit := func(what string, set bool, asked string, l Level) {
		if !set {
			asked, l = "none", Level{task.NotAsked, ""}
		}
		list = append(list, task.Enforcement{What: what, Asked: asked, Level: l.EnforcementLevel, How: l.how})
	}
	l := plan.Limits
	addLimit("timeout", l.TimeoutSeconds > 0, strconv.Itoa(l.TimeoutSeconds)+" s", h.Time)
	addLimit("idleTimeout", l.IdleTimeoutSeconds > 0, strconv.Itoa(l.IdleTimeoutSeconds)+" s", h.Time)
	addLimit("maxTokens", l.MaxTokens > 0, strconv.Itoa(l.MaxTokens), h.Tokens)
	addLimit("maxTurns", l.MaxTurns > 0, strconv.Itoa(l.MaxTurns), h.Turns)
	addLimit("maxCostUsd", l.MaxCostUSD > 0, fmt.Sprintf("%.2f USD", l.MaxCostUSD), h.Cost)
	return list
}

func toolEnforcement(tool string, allowed bool, l Level) task.Enforcement {
	if allowed {
		return task.Enforcement{What: tool, Asked: "allowed", Level: task.NotAsked}
	}
	return task.Enforcement{What: tool, Asked: "not allowed", Level: l.EnforcementLevel, How: l.how}
}

// Texts that several kinds share.
const (
	TreeEnds   = "its whole process tree is ended"
	ReportsUse = "by what the program reports of its use"
	Elsewhere  = "decided where it works, not here"
	OwnAccount = "it can do all that the account of the server can"
)

// AcceptWeaker is the hint in an error about an enforcement gap.
const AcceptWeaker = `Give the agent these tools, choose another runner, or set accept_weaker = true for this one.`

// Missing returns the names that are not among tools.
func Missing(tools []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(tools, name) })
}
