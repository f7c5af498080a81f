// Package views renders the pages: templ components with plain models. It loads
// no data and does not know HTTP.
package views

import (
	"net/url"
	"strconv"

	"taskyard/task"
)

// URL builds all links between pages.
var URL urls

type urls struct{}

// QueueFilter filters and sorts the board and the lists of open tasks. Zero
// fields have no effect.
type QueueFilter struct {
	Agent     string
	Status    string // a status, a work status, "waiting" or "failed"
	Query     string
	Label     string
	Project   string // key
	Priority  string // at least this number
	CreatedBy string // actor
	Blocked   string // "yes" or "no"
	Sort      string // a column of the list, with "-" before it to reverse
	After     string // cursor of the previous page
}

// TaskListFilter narrows the list of open tasks.
type TaskListFilter = QueueFilter

// HistoryQuery filters the history. Zero fields have no effect.
type HistoryQuery struct {
	Agent     string
	CreatedBy string // actor
	Label     string
	Project   string // key
	Status    string // done or canceled
	Query     string
	Since     string // duration before now: a value of sinceChoices
	From      string // day, 2006-01-02
	To        string // day, 2006-01-02
	Before    string // cursor of the previous page
}

// query returns "path?k=v" for pairs, omitting empty values.
func query(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// pairs returns the parameters that all lists of open tasks have.
func (f QueueFilter) pairs() []string {
	return []string{
		"agent", f.Agent, "status", f.Status, "q", f.Query, "label", f.Label, "project", f.Project, "priority", f.Priority,
		"by", f.CreatedBy, "blocked", f.Blocked, "sort", f.Sort, "after", f.After,
	}
}

// Queues is the board of every queue, filtered.
func (urls) Queues(f QueueFilter) string {
	f.Sort, f.After = "", "" // only for lists
	return query("/queues", f.pairs()...)
}

// QueuesAfter is the page of the board that follows an agent.
func (urls) QueuesAfter(f QueueFilter, agent string) string {
	f.Sort, f.After = "", agent
	return query("/queues", f.pairs()...)
}

// Queue is the board of one agent.
func (u urls) Queue(agent string) string { return u.Queues(QueueFilter{Agent: agent}) }

// Tasks is the list of open tasks, filtered.
func (urls) Tasks(f TaskListFilter) string { return query("/tasks", f.pairs()...) }

// NewTask is the form for a new task; owner, if not empty, is preselected.
func (urls) NewTask(owner string) string { return query("/tasks/new", "owner", owner) }

// FollowUp is the form for a new task that follows an archived one.
func (urls) FollowUp(id task.ID) string { return query("/tasks/new", "follow", id.String()) }

// Task is one task's page.
func (urls) Task(id task.ID) string { return "/tasks/" + id.String() }

// TaskAct is the target of forms for a task, or the page that asks for details:
// run, complete, cancel, move, edit, start, release, reply, comments, steps,
// resources.
func (u urls) TaskAct(id task.ID, act string) string { return u.Task(id) + "/" + act }

// Step is the target of forms that change a step; index is 0-based.
func (u urls) Step(id task.ID, index int) string {
	return u.TaskAct(id, "steps") + "/" + strconv.Itoa(index)
}

// StepEdit is the page that edits or delegates one step.
func (u urls) StepEdit(id task.ID, index int) string { return u.Step(id, index) + "/edit" }

// StepSubtask is the target of the form that creates the subtask of a step.
func (u urls) StepSubtask(id task.ID, index int) string { return u.Step(id, index) + "/subtask" }

// ResourceDelete is the target of forms that remove a resource.
func (u urls) ResourceDelete(id task.ID, index int) string {
	return u.TaskAct(id, "resources") + "/" + strconv.Itoa(index) + "/delete"
}

// Run is one run's page.
func (urls) Run(id task.ID) string { return "/runs/" + id.String() }

// RunAct is the target of forms for a run: approve, deny, cancel, retry.
func (u urls) RunAct(id task.ID, act string) string { return u.Run(id) + "/" + act }

// Approvals is the list of runs that wait for a decision.
func (urls) Approvals() string { return "/approvals" }

// Approval is the review of one waiting run.
func (urls) Approval(run task.ID) string { return "/approvals/" + run.String() }

// Agents is the list of agents.
func (urls) Agents() string { return "/agents" }

// AgentsAfter is the page of agents that match a search, after one of them.
func (urls) AgentsAfter(q, agent string) string { return query("/agents", "q", q, "after", agent) }

// Agent is one agent's page.
func (urls) Agent(id string) string { return "/agents/" + url.PathEscape(id) }

// AgentAct is a page or form target below an agent: edit, delete, todo.
func (u urls) AgentAct(id, act string) string { return u.Agent(id) + "/" + act }

// Scheduler is the page of ticks and jobs.
func (urls) Scheduler() string { return "/scheduler" }

// SchedulerAct is the target of forms for the scheduler.
func (urls) SchedulerAct(act string) string { return "/scheduler/" + act }

// Settings is one page of the settings; "" is the first.
func (urls) Settings(section string) string {
	if section == "" {
		return "/settings"
	}
	return "/settings/" + section
}

// Login is the sign-in page; next, if not empty, is where to continue.
func (urls) Login(next string) string { return query("/login", "next", next) }

// Logout is the target of the sign-out form.
func (urls) Logout() string { return "/logout" }

// Setup is the page that creates the first admin.
func (urls) Setup() string { return "/setup" }

// LoginLink is the target of the one-time sign-in link.
func (urls) LoginLink() string { return "/login/link" }
