package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
)

// level is how far one thing is enforced, and by what, or why not.
type level struct {
	task.EnforcementLevel
	how string
}

func enforced(how string) level       { return level{task.Enforced, how} }
func partlyEnforced(how string) level { return level{task.PartlyEnforced, how} }
func notEnforced(how string) level    { return level{task.NotEnforced, how} }

// enforcedIf is enforced or notEnforced.
func enforcedIf(ok bool, how string) level {
	if ok {
		return enforced(how)
	}
	return notEnforced(how)
}

// every is the level of all tools alike.
func every(l level) func(string) level { return func(string) level { return l } }

// enforcement is what a runner enforces of one spec on this machine.
type enforcement struct {
	tool                      func(name string) level // of one that is not allowed
	files, network            level
	time, tokens, turns, cost level
}

// enforcer is a Runner that knows what it enforces.
type enforcer interface {
	enforcement(plan task.Spec) enforcement
}

// Enforces lists what a spec asks for, each tool and limit once, and whether
// the runner enforces it. A nil runner works elsewhere, as a worker does: then
// nothing is known to be enforced.
func Enforces(r Runner, plan task.Spec) (list []task.Enforcement) {
	h := elsewhereEnforcement
	if x, ok := r.(enforcer); ok {
		h = x.enforcement(plan)
	}
	for _, tool := range task.KnownTools {
		l := h.tool(tool)
		if tool == "task" { // who may delegate is looked at here, whatever the program is
			l = enforced("Taskyard refuses it")
		}
		list = append(list, ofTool(tool, slices.Contains(plan.Tools, tool), l))
	}
	for _, tool := range plan.Tools {
		if !slices.Contains(task.KnownTools, tool) {
			list = append(list, ofTool(tool, true, level{}))
		}
	}
	network := "closed"
	if plan.Network {
		network, h.network = "open", level{task.NotAsked, ""}
	}
	list = append(list, task.Enforcement{
		What: "files", Asked: "writes in its work folder only",
		Level: h.files.EnforcementLevel, How: h.files.how,
	},
		task.Enforcement{What: "network", Asked: network, Level: h.network.EnforcementLevel, How: h.network.how})
	limit := func(what string, set bool, asked string, l level) {
		if !set {
			asked, l = "none", level{task.NotAsked, ""}
		}
		list = append(list, task.Enforcement{What: what, Asked: asked, Level: l.EnforcementLevel, How: l.how})
	}
	l := plan.Limits
	limit("timeout", l.TimeoutSeconds > 0, strconv.Itoa(l.TimeoutSeconds)+" s", h.time)
	limit("idleTimeout", l.IdleTimeoutSeconds > 0, strconv.Itoa(l.IdleTimeoutSeconds)+" s", h.time)
	limit("maxTokens", l.MaxTokens > 0, strconv.Itoa(l.MaxTokens), h.tokens)
	limit("maxTurns", l.MaxTurns > 0, strconv.Itoa(l.MaxTurns), h.turns)
	limit("maxCostUsd", l.MaxCostUSD > 0, fmt.Sprintf("%.2f USD", l.MaxCostUSD), h.cost)
	return list
}

func ofTool(tool string, allowed bool, l level) task.Enforcement {
	if allowed {
		return task.Enforcement{What: tool, Asked: "allowed", Level: task.NotAsked}
	}
	return task.Enforcement{What: tool, Asked: "not allowed", Level: l.EnforcementLevel, How: l.how}
}

// What several kinds say.
const (
	treeEnds      = "its whole process tree is ended"
	reportsUse    = "by what the program reports of its use"
	ownAccount    = "it can do all that the account of the server can"
	workerDecides = "decided on the worker that starts it, not here"
	receiverTold  = "the receiver is told, and does what it wants"
)

var elsewhereEnforcement = enforcement{
	tool: every(partlyEnforced(workerDecides)), files: partlyEnforced(workerDecides), network: partlyEnforced(workerDecides),
	time: enforced("the worker ends it, and its lease"), tokens: partlyEnforced(workerDecides),
	turns: partlyEnforced(workerDecides), cost: partlyEnforced(workerDecides),
}

func (b *Builtin) enforcement(plan task.Spec) enforcement {
	h := enforcement{
		tool: every(enforced("each call is checked when it is made")), files: enforced("tools open files below the work folder alone"),
		network: enforced("fetch reaches public addresses alone, and only where it is allowed"),
		time:    enforced("the run is ended"), tokens: enforced("counted with each reply of the model"),
		turns: enforced("counted"), cost: enforced("by the price table"),
	}
	if slices.Contains(plan.Tools, "bash") && b.Shell != nil {
		how := b.Shell()
		closed, _, _ := strings.Cut(how, "; with network")
		h.files, h.network = enforcedIf(!strings.HasPrefix(how, "bash: none"), how),
			enforcedIf(strings.Contains(closed, "no network") || strings.Contains(closed, "off"), how)
	}
	return h
}

func (c *Claude) enforcement(plan task.Spec) enforcement {
	h := enforcement{
		tool: every(enforced("the program is given the list by --tools and refuses all others")), network: enforced("commands have no network"),
		time: enforced(treeEnds), tokens: enforced(reportsUse),
		turns: enforced("by --max-turns"), cost: enforced("by --max-budget-usd, and " + reportsUse),
	}
	h.files = c.Confine.files()
	if slices.Contains(plan.Tools, "bash") && (!c.Confine.machine().Seccomp || !c.isClaude()) {
		h.network = notEnforced("this machine or program cannot close it to commands")
	}
	return h
}

func (c *Codex) enforcement(plan task.Spec) enforcement {
	mode := sandbox(plan.Tools)
	reads := mode == "read-only"
	return enforcement{
		tool: func(name string) level {
			switch name {
			case "create", "edit":
				return enforcedIf(reads, "Codex has no list of tools; its sandbox is "+mode)
			case "bash":
				if reads {
					return partlyEnforced("commands run, and the sandbox lets them change nothing")
				}
			case "fetch":
				return enforcedIf(!c.Network, "by the sandbox of Codex")
			}
			return notEnforced("Codex has no list of tools; its sandbox is " + mode)
		},
		files: enforced("by the sandbox of Codex"), network: enforcedIf(!c.Network, "by the sandbox of Codex"),
		time: enforced(treeEnds), tokens: enforced(reportsUse), turns: enforced("counted as it reports them"),
		cost: notEnforced("Codex does not tell what it costs"),
	}
}

func (a *ACP) enforcement(task.Spec) enforcement {
	return enforcement{
		tool:  every(notEnforced("the agent asks before a call only when it wants to")),
		files: a.Confine.files(), network: notEnforced("its network is open"),
		time: enforced(treeEnds), tokens: partlyEnforced("only if the program reports its use"),
		turns: notEnforced("the protocol does not tell turns"), cost: partlyEnforced("only if the program reports its cost"),
	}
}

func (c *Command) enforcement(task.Spec) enforcement {
	return enforcement{
		tool: every(notEnforced(ownAccount)), files: notEnforced(ownAccount), network: notEnforced(ownAccount),
		time: enforced(treeEnds), tokens: partlyEnforced(reportsUse),
		turns: notEnforced("the program does not tell its turns"), cost: partlyEnforced(reportsUse),
	}
}

func (w *Webhook) enforcement(task.Spec) enforcement {
	return enforcement{
		tool: every(notEnforced(receiverTold)), files: notEnforced(receiverTold), network: notEnforced(receiverTold),
		time:   partlyEnforced("the run ends here and its token expires; the receiver may work on"),
		tokens: partlyEnforced("known when it reports its result"), turns: notEnforced(receiverTold),
		cost: partlyEnforced("known when it reports its result"),
	}
}

// files is how far a program is held to its work folder.
func (c Confinement) files() level {
	if ok, why := c.works(); !ok {
		return notEnforced("not confined (" + why + "): " + ownAccount)
	}
	if unenforced := c.machine().Unenforced(); unenforced != "" {
		return partlyEnforced("landlock; " + unenforced)
	}
	return enforced("landlock; it can read what the account of the server can, but the data folder")
}
