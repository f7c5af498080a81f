package mcpserver

import (
	"maps"
	"slices"
	"strings"
	"time"

	"taskyard/service"
	"taskyard/task"
)

var runID = id("run_id", "runId from the response").must()

var delegateTools = []tool{
	{
		name: "task", delegates: true, run: delegateOrTodo,
		doc: "Delegate to a sub-agent and get its short result, or list the agents and how to use them",
		args: []arg{
			text("task", "what to do"), text("description", "another name for task").hide(),
			text("agent_type", "default general-purpose; list: list the agents"),
			text("model", "default: the agent's"), choice("estimated_complexity", "selects a model", task.Complexities...),
			count("wait_seconds", "for the result, default 50", 0, maxWait), id("taskId", "parent, default your run's task"),
			count("stepIndex", "step of the parent, 0-based", 0, 0),
			list("resources", isIndexes, "resources to pass on"),
			// The tool's other form, a todo list: its own tools are listed instead.
			text("agent_id", "todo: whose list").hide(), choice("operation", "todo", todoNames()...).hide(), text("item", "todo: to push").hide(),
		},
	},
	{
		name: "task_status", delegates: true, doc: "Show the state of a delegated run", reads: true, run: followDelegated,
		args: []arg{runID, cursor("transcript_after", "include its transcript after this id, 0 for all")},
	},
	{
		name: "task_wait", delegates: true, doc: "Wait for the result of a delegated run", reads: true, run: followDelegated,
		args: []arg{runID, count("wait_seconds", "default 50", 0, maxWait)},
	},
	{
		name: "task_stop", delegates: true, doc: "Stop a delegated run", run: stopDelegated, idempotent: true,
		args: []arg{runID, text("reason", "why")},
	},
}

func todoNames() []string {
	names := make([]string, len(task.TodoOps))
	for i, op := range task.TodoOps {
		names[i] = string(op)
	}
	return names
}

// forms is the error of a call of task that matches none of the forms, or
// several.
var forms = &task.Error{
	Kind: task.Invalid, Code: task.CodeInvalidField,
	Message: "task takes one of three forms: to delegate, task (or description) with agent_type, model, estimated_complexity, " +
		"wait_seconds, taskId, stepIndex, resources; to list the agents, only agent_type \"list\"; for a todo list, " +
		"agent_id and operation (" + strings.Join(todoNames(), ", ") + ") with item to push",
}

// delegateOrTodo determines which of its three forms a call of task has.
func delegateOrTodo(c *call) (answer, error) {
	sent := slices.Sorted(maps.Keys(c.values))
	todoForm := onlyContains(sent, "agent_id", "item", "operation")
	switch {
	case len(sent) == 1 && c.text("agent_type") == task.ListAgents:
		return agentTypes(c)
	case todoForm && c.has("agent_id") && c.has("operation"):
		return todo(c, task.TodoCall{Op: task.TodoOp(c.text("operation")), Item: pointer[string](c.values, "item")})
	case c.text("agent_type") == task.ListAgents || c.has("task") == c.has("description"):
		return answer{}, forms
	case c.has("agent_id") || c.has("operation") || c.has("item"):
		return answer{}, forms
	}
	return delegate(c)
}

// onlyContains reports whether every name is one of those allowed.
func onlyContains(names []string, allowed ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(allowed, n) })
}

func agentTypes(c *call) (answer, error) {
	list, err := c.svc.AgentTypes(c.actor)
	list = slices.DeleteFunc(list, func(a task.AgentType) bool { return !a.Startable })
	how := service.DelegationGuide
	if len(list) == 0 || c.actor.RunID != 0 { // it is in the prompt of a run
		how = ""
	}
	return answer{structured: struct {
		Agents []task.AgentType `json:"agents"`
		How    string           `json:"how,omitempty"`
	}{list, how}, compact: true}, err
}

func delegate(c *call) (answer, error) {
	what := c.text("task")
	if c.has("description") {
		what = c.text("description")
	}
	return delegated(c.svc.Delegate(c.ctx, c.actor, task.Delegation{
		ParentTask: c.id("taskId"), Task: what, AgentType: c.text("agent_type"),
		Model: c.text("model"), Complexity: c.text("estimated_complexity"),
		StepIndex: pointer[int](c.values, "stepIndex"), Resources: value[[]int](c.values, "resources"),
		Wait: seconds(c.count("wait_seconds", maxWait)),
	}))
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func delegated(d task.Delegated, err error) (answer, error) {
	return answer{structured: delegatedView{Delegated: d, Next: nextCall(d)}}, err
}

// delegatedView is the state of a delegation and, until it has ended, what to
// do next.
type delegatedView struct {
	task.Delegated
	Next       string          `json:"next,omitempty"`
	Transcript *transcriptPage `json:"transcript,omitempty"`
}

// nextCall says what an unfinished delegation waits for, and which call to
// make.
func nextCall(d task.Delegated) string {
	if d.Ended() {
		return ""
	}
	call := "task_wait with run_id " + d.RunID.String() + " waits for the result"
	const or = ", or end your turn; you are started again when it ends"
	switch d.Phase {
	case task.PhaseApproval:
		return "A person must approve it first: " + call + or
	case task.PhaseQuestion:
		return "A person must answer its question first: " + call + or
	}
	return "It has not ended yet: " + call
}

// followDelegated implements task_status, which does not wait, and task_wait.
func followDelegated(c *call) (answer, error) {
	wait := 0
	if c.tool == "task_wait" {
		wait = c.count("wait_seconds", maxWait)
	}
	d, err := c.svc.DelegatedRun(c.ctx, c.actor, c.id("run_id"), seconds(wait))
	if err != nil || !c.has("transcript_after") {
		return delegated(d, err)
	}
	v := delegatedView{Delegated: d, Next: nextCall(d)}
	v.Transcript, err = c.transcript(c.id("run_id"), c.id("transcript_after"))
	return answer{structured: v, compact: true}, err
}

func stopDelegated(c *call) (answer, error) {
	return delegated(c.svc.StopDelegated(c.ctx, c.actor, c.id("run_id"), c.text("reason")))
}
