package views

import (
	"net/url"
	"strconv"

	"taskyard/task"
)

// RunQuery narrows the list of runs. Zero fields do not narrow.
type RunQuery struct {
	Status string // a task.RunStatus
	Agent  string
	Task   task.ID
	Since  string  // a time before now in which it ended: a value of sinceChoices
	From   string  // day on which it ended, or later: 2006-01-02
	To     string  // day on which it ended, or earlier
	Before task.ID // the cursor of the page before
}

// Runs is the list of runs, filtered.
func (urls) Runs(q RunQuery) string {
	return query("/runs", "status", q.Status, "agent", q.Agent, "task", idOrNone(q.Task),
		"since", q.Since, "from", q.From, "to", q.To, "before", idOrNone(q.Before))
}

func idOrNone(id task.ID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// Transcript answers the items of a run's transcript after a message id, as
// list items alone; the id is the parameter "after".
func (u urls) Transcript(run task.ID) string { return u.RunAct(run, "transcript") }

// RunDiff is what a run changed, as text.
func (u urls) RunDiff(run task.ID) string { return u.RunAct(run, "diff") }

// NewAgent is the editor of a definition that does not exist yet.
func (u urls) NewAgent() string { return u.Agents() + "/new" }

// NewAgentFrom is the editor of a new definition that begins with a template.
func (u urls) NewAgentFrom(key string) string { return query(u.NewAgent(), "from", key) }

// AgentsCheck answers the editor with what is wrong with its text.
func (u urls) AgentsCheck() string { return u.NewAgent() + "/check" }

// AgentTodo is an agent's page with so many items of its todo list.
func (u urls) AgentTodo(id string, items int) string {
	return query(u.Agent(id), "todos", strconv.Itoa(items)) + "#todo"
}

// AgentsReload is where a form posts the wish to read all definitions again.
func (u urls) AgentsReload() string { return u.Agents() + "/reload" }

// RunnersProbe is where a form posts the wish to look at all runners again.
func (urls) RunnersProbe() string { return "/runners/probe" }

// SchedulerJob is where a form posts the wish to run a job now.
func (u urls) SchedulerJob(name string) string {
	return u.SchedulerAct("jobs/" + url.PathEscape(name) + "/run")
}

// UserAct is where a form posts an act on a person: role, disable, enable.
func (u urls) UserAct(id task.ID, act string) string {
	return u.Settings("people/" + id.String() + "/" + act)
}

// TokenAct is where a form posts an act on a token: revoke.
func (u urls) TokenAct(id task.ID, act string) string {
	return u.Settings("tokens/" + id.String() + "/" + act)
}
