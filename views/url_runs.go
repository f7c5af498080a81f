package views

import (
	"net/url"
	"strconv"

	"taskyard/task"
)

// RunQuery filters the list of runs. Zero fields have no effect.
type RunQuery struct {
	Status string // a task.RunStatus
	Agent  string
	Task   task.ID
	Since  string  // maximum time since its end: a value of sinceChoices
	From   string  // first day of its end: 2006-01-02
	To     string  // last day of its end
	Before task.ID // cursor of the previous page
}

// Runs is the list of runs, filtered.
func (urls) Runs(q RunQuery) string {
	return query("/runs", "status", q.Status, "agent", q.Agent, "task", idText(q.Task),
		"since", q.Since, "from", q.From, "to", q.To, "before", idText(q.Before))
}

func idText(id task.ID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// Transcript returns the items of a run's transcript after a message ID, as
// list items only; the ID is the parameter "after".
func (u urls) Transcript(run task.ID) string { return u.RunAct(run, "transcript") }

// RunDiff is the diff of a run, as text.
func (u urls) RunDiff(run task.ID) string { return u.RunAct(run, "diff") }

// NewAgent is the editor of a definition that does not exist yet.
func (u urls) NewAgent() string { return u.Agents() + "/new" }

// NewAgentFrom is the editor of a new definition from a template.
func (u urls) NewAgentFrom(key string) string { return query(u.NewAgent(), "from", key) }

// AgentsCheck returns the editor with the problems of its text.
func (u urls) AgentsCheck() string { return u.NewAgent() + "/check" }

// AgentTodo is an agent's page with a number of items of its todo list.
func (u urls) AgentTodo(id string, items int) string {
	return query(u.Agent(id), "todos", strconv.Itoa(items)) + "#todo"
}

// AgentsReload is the target of the form that reloads all definitions.
func (u urls) AgentsReload() string { return u.Agents() + "/reload" }

// RunnersProbe is the target of the form that probes all runners again.
func (urls) RunnersProbe() string { return "/runners/probe" }

// SchedulerJob is the target of the form that runs a job now.
func (u urls) SchedulerJob(name string) string {
	return u.SchedulerAct("jobs/" + url.PathEscape(name) + "/run")
}

// UserAct is the target of forms for a person: role, disable, enable.
func (u urls) UserAct(id task.ID, act string) string {
	return u.Settings("people/" + id.String() + "/" + act)
}

// TokenAct is the target of forms for a token: revoke.
func (u urls) TokenAct(id task.ID, act string) string {
	return u.Settings("tokens/" + id.String() + "/" + act)
}
