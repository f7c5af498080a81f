package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// AgentList lists the agents.
type AgentList struct{ Quiet }

// agentLine is an agent in the server's list.
type agentLine struct {
	task.Agent
	Load struct {
		Queued, Working, Waiting, Failed, Drafts int
	} `json:"load"`
	Definition     string           `json:"definition"`
	EnforcementGap string           `json:"weaker"`
	Pause          *task.Pause      `json:"pause"`
	RunnerInfo     *task.RunnerInfo `json:"runnerInfo"`
}

// state returns the verdict on an agent, and whether it is paused.
func (a *agentLine) state() string {
	if a.Pause != nil {
		return string(a.Status) + ", paused"
	}
	return string(a.Status)
}

// runner returns the runner of an agent, and its problem.
func (a *agentLine) runner(runners []task.RunnerInfo) string {
	if a.PullOnly {
		return "pull-only"
	}
	i := slices.IndexFunc(runners, func(r task.RunnerInfo) bool { return r.Name == a.Runner })
	switch {
	case i >= 0 && runners[i].State() == "missing":
		return a.Runner + " (not ready)"
	case a.EnforcementGap == "":
		return a.Runner
	case i >= 0 && runners[i].EnforcesTools:
		return a.Runner + " (partly enforced)"
	}
	return a.Runner + " (not enforced)"
}

// marks are the symbols for verdicts on definitions, as on the page of agents.
var marks = map[task.AgentStatus]string{task.AgentValid: "✓ ", task.AgentWarning: "⚠ ", task.AgentInvalid: "✗ "}

// Run lists the agents with their load and tools.
func (c AgentList) Run(e *Env) error {
	type answer struct {
		Agents  []agentLine
		Runners []task.RunnerInfo
	}
	return printCall(e, "GET", "/api/agents", nil, func(out *answer) {
		rows := make([][]string, len(out.Agents))
		for i, a := range out.Agents {
			rows[i] = []string{
				a.ID, marks[a.Status] + a.state(), strconv.Itoa(a.Load.Queued), strconv.Itoa(a.Load.Working),
				a.runner(out.Runners), strings.Join(a.Tools, " "), a.Description,
			}
		}
		e.listed(c.Quiet.Quiet, []string{"AGENT", "STATUS", "QUEUED", "WORKING", "RUNNER", "TOOLS", "DESCRIPTION"}, rows)
	})
}

// OneAgent is the argument for an agent.
type OneAgent struct {
	ID string `arg:"" optional:"" name:"agent" help:"ID of the agent (default: TASKYARD_AGENT, or the agent of the token)." complete:"agent"`
}

// AgentShow shows an agent.
type AgentShow struct {
	OneAgent
	Text bool `help:"Print only the text of the definition."`
}

// Run shows an agent: definition, verdict, problems, load.
func (c *AgentShow) Run(e *Env) error {
	id, err := e.agent("as the argument", c.ID)
	if err != nil {
		return err
	}
	var a agentLine
	raw, err := e.call("GET", agentPath(id, ""), nil, &a)
	if err != nil {
		return e.suggestAgent(id, err)
	}
	return e.answer(raw, func() {
		if !c.Text {
			e.showAgent(&a)
			return
		}
		e.say("%s", printableLines(strings.TrimRight(a.Definition, "\n")))
	})
}

// suggestAgent adds to the error for an unknown agent which one was probably
// meant.
func (e *Env) suggestAgent(id string, err error) error {
	var no *ResponseError
	if !errors.As(err, &no) || no.Code != string(task.CodeAgentNotFound) {
		return err
	}
	var known struct{ Agents []agentLine }
	if _, listErr := e.call("GET", "/api/agents", nil, &known); listErr != nil {
		return err // callers who may not list agents see no names
	}
	ids := make([]string, len(known.Agents))
	for i, a := range known.Agents {
		ids[i] = a.ID
	}
	if near := task.Nearest(strings.ToLower(id), ids); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, printable(near))
	}
	return fmt.Errorf("%w; known agents are %s", err, printable(strings.Join(ids, ", ")))
}

func (e *Env) showAgent(a *agentLine) {
	e.say("%s: %s", printable(a.ID), printable(a.Description))
	fields(e.Stdout,
		"file", "agents/"+a.ID+".md in the data folder",
		"status", string(a.Status), "paused", describePause(a.Pause), "runner", a.Runner, "pull only", a.PullReason, "model", a.Model,
		"projects", strings.Join(a.Projects, " "), "review", ownReview(a.Review),
		"tools", strings.Join(a.Tools, " "), "unknown tools", strings.Join(a.UnknownTools, " "),
		"approval", string(a.Approval), "workspace", a.Workspace,
		"load", counted(a.Load.Queued, "queued")+", "+counted(a.Load.Working, "working")+", "+
			counted(a.Load.Waiting, "waiting")+", "+counted(a.Load.Failed, "failed"))
	if a.RunnerInfo != nil {
		e.say("Runner %s", printable(a.Runner))
		e.showRunner(a.RunnerInfo)
	}
	fields(e.Stdout, "beyond its tools", a.EnforcementGap)
	e.part("Checks of its tasks", len(a.Checks))
	e.checkLines(a.Checks)
	e.part("Problems", len(a.Problems))
	for _, p := range a.Problems {
		e.say("  %s", ProblemLine(p))
	}
}

func counted(n int, what string) string { return strconv.Itoa(n) + " " + what }

// ProblemLine returns a problem of a definition file as text.
func ProblemLine(p task.Problem) string {
	mark, place := "⚠", ""
	if p.Fatal {
		mark = "✗"
	}
	if p.Line > 0 {
		place = "line " + strconv.Itoa(p.Line) + ": "
	}
	line := mark + " " + place + printable(p.Message)
	if p.Hint != "" {
		line += "\n    " + printable(p.Hint)
	}
	return line
}

// AgentQueue lists the queue of an agent.
type AgentQueue struct {
	OneAgent
	Limit int    `help:"Maximum number of results (1 to 500; default 100)." placeholder:"N"`
	After string `help:"Continue after an earlier page." placeholder:"CURSOR"`
	Quiet
}

// Run lists the active tasks in the order in which they are claimed.
func (c *AgentQueue) Run(e *Env) error {
	id, err := e.agent("as the argument", c.ID)
	if err != nil {
		return err
	}
	return e.listTasks(params{}.num("limit", c.Limit).set("after", c.After).appendTo(agentPath(id, "/queue")), "--after", c.Quiet.Quiet)
}

// Names returns the IDs of all agents or projects, or the tasks of the caller's
// queue, for shell completion. It returns whatever it gets within the given
// time.
func (e *Env) Names(kind string, within time.Duration) [][2]string {
	short := *e
	var cancel context.CancelFunc
	short.Ctx, cancel = context.WithTimeout(e.Ctx, within)
	defer cancel()
	switch kind {
	case "agent":
		return short.agentNames()
	case "project":
		return short.projectNames()
	}
	return short.taskNames()
}

func (e *Env) projectNames() (list [][2]string) {
	_, projects, err := e.projects()
	if err != nil {
		return nil
	}
	for _, p := range projects {
		if task.ValidProjectKey(p.Key) {
			list = append(list, [2]string{p.Key, printable(p.Name)})
		}
	}
	return list
}

func (e *Env) agentNames() (list [][2]string) {
	var out struct{ Agents []agentLine }
	if _, err := e.call("GET", "/api/agents", nil, &out); err != nil {
		return nil
	}
	for _, a := range out.Agents {
		if task.ValidAgentID(a.ID) {
			list = append(list, [2]string{a.ID, printable(a.Description)})
		}
	}
	return list
}

func (e *Env) taskNames() (list [][2]string) {
	path := "/api/tasks?limit=50"
	if agent, err := e.agent("", ""); err == nil {
		path = agentPath(agent, "/queue?limit=50")
	}
	var p taskPage
	if _, err := e.call("GET", path, nil, &p); err != nil {
		return nil
	}
	for _, t := range p.Tasks {
		list = append(list, [2]string{t.ID.String(), printable(t.Title)})
	}
	return list
}
