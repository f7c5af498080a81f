package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// AgentList lists the agents.
type AgentList struct{}

// agentLine is what the server tells of an agent.
type agentLine struct {
	task.Agent
	Load struct {
		Queued, Working, Waiting, Failed, Drafts int
	} `json:"load"`
	Definition string `json:"definition"`
}

// Run lists the agents with their load.
func (AgentList) Run(y *Yard) error {
	var out struct{ Agents []agentLine }
	raw, err := y.call("GET", "/api/agents", nil, &out)
	if err != nil {
		return err
	}
	return y.answer(raw, func() {
		rows := make([][]string, len(out.Agents))
		for i, a := range out.Agents {
			started := a.Runner
			if a.PullOnly {
				started = "by itself"
			}
			rows[i] = []string{a.ID, string(a.Status), strconv.Itoa(a.Load.Queued), strconv.Itoa(a.Load.Working), started, a.Description}
		}
		y.table([]string{"AGENT", "STATUS", "QUEUED", "WORKING", "STARTED", "DESCRIPTION"}, rows)
	})
}

// OneAgent names an agent.
type OneAgent struct {
	ID string `arg:"" optional:"" name:"agent" help:"Id of the agent (default: TASKYARD_AGENT, or the agent of the token)." complete:"agent"`
}

// AgentShow shows an agent.
type AgentShow struct {
	OneAgent
	Text bool `help:"Print the text of the definition alone."`
}

// Run shows an agent: definition, verdict, problems, load.
func (c *AgentShow) Run(y *Yard) error {
	id, err := y.agent(c.ID)
	if err != nil {
		return err
	}
	var a agentLine
	raw, err := y.call("GET", agentPath(id, ""), nil, &a)
	if err != nil {
		return err
	}
	return y.answer(raw, func() {
		if !c.Text {
			y.showAgent(&a)
			return
		}
		y.say("%s", cleanLines(strings.TrimRight(a.Definition, "\n")))
	})
}

func (y *Yard) showAgent(a *agentLine) {
	y.say("%s: %s", clean(a.ID), clean(a.Description))
	fields(y.Stdout,
		"status", string(a.Status), "runner", a.Runner, "pull only", a.PullReason, "model", a.Model,
		"tools", strings.Join(a.Tools, " "), "unknown tools", strings.Join(a.UnknownTools, " "),
		"approval", string(a.Approval), "workspace", a.Workspace,
		"load", counted(a.Load.Queued, "queued")+", "+counted(a.Load.Working, "working")+", "+counted(a.Load.Waiting, "waiting")+", "+counted(a.Load.Failed, "failed"))
	y.part("Problems", len(a.Problems))
	for _, p := range a.Problems {
		y.say("  %s", ProblemLine(p))
	}
}

func counted(n int, what string) string { return strconv.Itoa(n) + " " + what }

// ProblemLine is a finding in a definition file as people read it.
func ProblemLine(p task.Problem) string {
	mark, place := "⚠", ""
	if p.Fatal {
		mark = "✗"
	}
	if p.Line > 0 {
		place = "line " + strconv.Itoa(p.Line) + ": "
	}
	line := mark + " " + place + clean(p.Message)
	if p.Hint != "" {
		line += "\n    " + clean(p.Hint)
	}
	return line
}

// AgentQueue lists the queue of an agent.
type AgentQueue struct {
	OneAgent
	Limit int    `help:"At most so many (1 to 500; default 100)." placeholder:"N"`
	After string `help:"Go on behind an earlier page." placeholder:"CURSOR"`
}

// Run lists the active tasks in the order in which they are claimed.
func (c *AgentQueue) Run(y *Yard) error {
	id, err := y.agent(c.ID)
	if err != nil {
		return err
	}
	return y.listTasks(params{}.num("limit", c.Limit).set("after", c.After).on(agentPath(id, "/queue")), "--after")
}

// Names asks the server for the ids of all agents, and for the tasks of the
// caller's queue, in so much time; what cannot be had is left out. It serves
// the completion of the shell.
func (y *Yard) Names(kind string, within time.Duration) [][2]string {
	short := *y
	var cancel context.CancelFunc
	short.Ctx, cancel = context.WithTimeout(y.Ctx, within)
	defer cancel()
	if kind == "agent" {
		return short.agentNames()
	}
	return short.taskNames()
}

func (y *Yard) agentNames() (list [][2]string) {
	var out struct{ Agents []agentLine }
	if _, err := y.call("GET", "/api/agents", nil, &out); err != nil {
		return nil
	}
	for _, a := range out.Agents {
		if task.ValidAgentID(a.ID) {
			list = append(list, [2]string{a.ID, clean(a.Description)})
		}
	}
	return list
}

func (y *Yard) taskNames() (list [][2]string) {
	path := "/api/tasks?limit=50"
	if agent, err := y.agent(""); err == nil {
		path = agentPath(agent, "/queue?limit=50")
	}
	var p taskPage
	if _, err := y.call("GET", path, nil, &p); err != nil {
		return nil
	}
	for _, t := range p.Tasks {
		list = append(list, [2]string{t.ID.String(), clean(t.Title)})
	}
	return list
}
