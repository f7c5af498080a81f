package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
)

// level is how far one thing is held, and by what, or why not.
type level struct {
	task.EnforcementLevel
	how string
}

func isHeld(how string) level  { return level{task.Enforced, how} }
func partly(how string) level  { return level{task.Partly, how} }
func notHeld(how string) level { return level{task.NotEnforced, how} }

// heldIf is isHeld or notHeld.
func heldIf(ok bool, how string) level {
	if ok {
		return isHeld(how)
	}
	return notHeld(how)
}

// every is the level of all tools alike.
func every(l level) func(string) level { return func(string) level { return l } }

// holding is how far a runner holds an agent with one spec on this machine.
type holding struct {
	tool                      func(name string) level // of one that is not allowed
	files, network            level
	time, tokens, turns, cost level
}

// holder is a Runner that knows how far it holds an agent.
type holder interface{ holding(plan task.Spec) holding }

// Enforces lists what a spec asks for, each tool and limit once, and whether
// the runner enforces it. A nil runner works elsewhere, as a worker does: then
// nothing is known to be held.
func Enforces(r Runner, plan task.Spec) (list []task.Enforcement) {
	h := elsewhereHolding
	if x, ok := r.(holder); ok {
		h = x.holding(plan)
	}
	for _, tool := range task.KnownTools {
		l := h.tool(tool)
		if tool == "task" { // who may delegate is looked at here, whatever the program is
			l = isHeld("Taskyard refuses it")
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
	list = append(list, task.Enforcement{What: "files", Asked: "writes in its work folder only", Level: h.files.EnforcementLevel, How: h.files.how},
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

var elsewhereHolding = holding{
	tool: every(partly(workerDecides)), files: partly(workerDecides), network: partly(workerDecides),
	time: isHeld("the worker ends it, and its lease"), tokens: partly(workerDecides), turns: partly(workerDecides), cost: partly(workerDecides),
}

func (b *Builtin) holding(plan task.Spec) holding {
	h := holding{
		tool: every(isHeld("each call is checked when it is made")), files: isHeld("tools open files below the work folder alone"), network: isHeld("fetch reaches public addresses alone, and only where it is allowed"),
		time: isHeld("the run is ended"), tokens: isHeld("counted with each reply of the model"), turns: isHeld("counted"), cost: isHeld("by the price table"),
	}
	if slices.Contains(plan.Tools, "bash") && b.Shell != nil {
		how := b.Shell()
		closed, _, _ := strings.Cut(how, "; with network")
		h.files, h.network = heldIf(!strings.HasPrefix(how, "bash: none"), how), heldIf(strings.Contains(closed, "no network") || strings.Contains(closed, "off"), how)
	}
	return h
}

func (c *Claude) holding(plan task.Spec) holding {
	h := holding{
		tool: every(isHeld("the program is given the list by --tools and refuses all others")), network: isHeld("commands have no network"),
		time: isHeld(treeEnds), tokens: isHeld(reportsUse), turns: isHeld("by --max-turns"), cost: isHeld("by --max-budget-usd, and " + reportsUse),
	}
	h.files = c.Confine.files()
	if slices.Contains(plan.Tools, "bash") && (!c.Confine.machine().Seccomp || !c.isClaude()) {
		h.network = notHeld("this machine or program cannot close it to commands")
	}
	return h
}

func (c *Codex) holding(plan task.Spec) holding {
	mode := sandbox(plan.Tools)
	reads := mode == "read-only"
	return holding{
		tool: func(name string) level {
			switch name {
			case "create", "edit":
				return heldIf(reads, "Codex has no list of tools; its sandbox is "+mode)
			case "bash":
				if reads {
					return partly("commands run, and the sandbox lets them change nothing")
				}
			case "fetch":
				return heldIf(!c.Network, "by the sandbox of Codex")
			}
			return notHeld("Codex has no list of tools; its sandbox is " + mode)
		},
		files: isHeld("by the sandbox of Codex"), network: heldIf(!c.Network, "by the sandbox of Codex"),
		time: isHeld(treeEnds), tokens: isHeld(reportsUse), turns: isHeld("counted as it reports them"), cost: notHeld("Codex does not tell what it costs"),
	}
}

func (a *ACP) holding(task.Spec) holding {
	return holding{
		tool: every(notHeld("the agent asks before a call only when it wants to")), files: a.Confine.files(), network: notHeld("its network is open"),
		time: isHeld(treeEnds), tokens: partly("only if the program reports its use"), turns: notHeld("the protocol does not tell turns"), cost: partly("only if the program reports its cost"),
	}
}

func (c *Command) holding(task.Spec) holding {
	return holding{
		tool: every(notHeld(ownAccount)), files: notHeld(ownAccount), network: notHeld(ownAccount),
		time: isHeld(treeEnds), tokens: partly(reportsUse), turns: notHeld("the program does not tell its turns"), cost: partly(reportsUse),
	}
}

func (w *Webhook) holding(task.Spec) holding {
	return holding{
		tool: every(notHeld(receiverTold)), files: notHeld(receiverTold), network: notHeld(receiverTold),
		time: partly("the run ends here and its token expires; the receiver may work on"), tokens: partly("known when it reports its result"), turns: notHeld(receiverTold), cost: partly("known when it reports its result"),
	}
}

// files is how far a program is held to its work folder.
func (c Confinement) files() level {
	if ok, why := c.works(); !ok {
		return notHeld("not confined (" + why + "): " + ownAccount)
	}
	if unheld := c.machine().Unheld(); unheld != "" {
		return partly("landlock; " + unheld)
	}
	return isHeld("landlock; it can read what the account of the server can, but the data folder")
}
