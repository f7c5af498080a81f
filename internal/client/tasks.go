package client

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"taskyard/task"
)

// Tasks contains the commands for tasks.
type Tasks struct {
	List    TaskList    `cmd:"" help:"List the open tasks of all agents, in the order of their queues."`
	Show    TaskShow    `cmd:"" help:"Show a task with its plan, comments, and why it is or is not running."`
	Create  TaskCreate  `cmd:"" help:"Create a task."`
	Claim   TaskClaim   `cmd:"" help:"Claim the first idle task of an agent's queue, or several."`
	Move    TaskMove    `cmd:"" help:"Hand a claimed task over to another agent, with a comment."`
	Done    TaskDone    `cmd:"" name:"complete" help:"Complete a task; archived tasks are read-only."`
	Cancel  TaskCancel  `cmd:"" help:"Cancel a task and every open subtask below it."`
	Run     TaskRun     `cmd:"" help:"Run a task now."`
	Update  TaskUpdate  `cmd:"" help:"Change the title, description, priority, owner, status, labels, project, checks or review of a task."`
	Comment TaskComment `cmd:"" help:"Comment on a task."`
	Ask     TaskAsk     `cmd:"" help:"Ask people; the task waits for the answer."`
	Notify  TaskNotify  `cmd:"" help:"Notify people."`
	Reply   TaskReply   `cmd:"" help:"Answer the open question of a task."`
	Steps   TaskSteps   `cmd:"" help:"Set the plan of a task: one step per line."`
	Step    TaskStep    `cmd:"" help:"Check off or change one step of the plan."`
	AddStep TaskAddStep `cmd:"" help:"Add a step to the plan, at the end or before another one."`
	Subtask TaskSubtask `cmd:"" help:"Create a subtask for a step."`
	Attach  TaskAttach  `cmd:"" help:"Attach a URL or file to a task."`
	Detach  TaskDetach  `cmd:"" help:"Remove an attached URL or file."`
	Block   TaskBlock   `cmd:"" help:"Make a task wait until other tasks are done."`
	Check   TaskCheck   `cmd:"" help:"List the checks of a task, or run one again; exit code 1 if it does not pass."`
	Why     TaskWhy     `cmd:"" help:"Show why a task is or is not running."`
	History TaskHistory `cmd:"" help:"List done and canceled tasks, newest first."`
	Release TaskRelease `cmd:"" help:"Release the claim of a task."`
	Beat    TaskBeat    `cmd:"" name:"heartbeat" help:"Renew the claim of a task."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// OneTask is the argument for a task.
type OneTask struct {
	ID string `arg:"" optional:"" name:"id" help:"ID of the task (default within a run: the task of the run)." complete:"task"`
}

// Claimed fences a call with the caller's claim.
type Claimed struct {
	Claim int64 `help:"Number of your claim; the call fails if it is no longer the current one." placeholder:"N"`
}

// Quiet prints only IDs.
type Quiet struct {
	Quiet bool `short:"q" help:"Print only IDs."`
}

// params builds a query.
type params url.Values

func (p params) set(name, value string) params {
	if value != "" {
		url.Values(p).Set(name, value)
	}
	return p
}

func (p params) num(name string, value int) params {
	if value != 0 {
		return p.set(name, strconv.Itoa(value))
	}
	return p
}

func (p params) appendTo(path string) string {
	if len(p) == 0 {
		return path
	}
	return path + "?" + url.Values(p).Encode()
}

// TaskList lists open tasks.
type TaskList struct {
	Owner      string `help:"Only tasks of this agent." placeholder:"AGENT" complete:"agent"`
	Status     string `help:"draft or active." complete:"draft,active"`
	WorkStatus string `help:"idle or working." complete:"idle,working"`
	Query      string `help:"Search title and description." placeholder:"WORDS"`
	Parent     string `help:"Only subtasks of this task." placeholder:"ID" complete:"task"`
	Label      string `help:"Only tasks with this label."`
	Project    string `help:"Only tasks of this project." placeholder:"KEY" complete:"project"`
	Limit      int    `help:"Maximum number of results (1 to 500; default 100)." placeholder:"N"`
	After      string `help:"Continue after an earlier page." placeholder:"CURSOR"`
	Quiet
}

// taskPage is a page of tasks.
type taskPage struct {
	Tasks    []*task.Task `json:"tasks"`
	InFlight []task.ID    `json:"inFlight"`
	Next     string       `json:"next"`
}

// Run lists tasks.
func (c *TaskList) Run(e *Env) error {
	q := params{}.set("owner", c.Owner).set("status", c.Status).set("workStatus", c.WorkStatus).set("q", c.Query).
		set("parent", c.Parent).set("label", c.Label).set("project", c.Project).num("limit", c.Limit).set("after", c.After)
	return e.listTasks(q.appendTo("/api/tasks"), "--after", c.Quiet.Quiet)
}

// listTasks prints a page of tasks, or one ID per line.
func (e *Env) listTasks(path, flag string, quiet bool) error {
	return printCall(e, "GET", path, nil, func(p *taskPage) {
		if quiet {
			for _, t := range p.Tasks {
				fmt.Fprintln(e.Stdout, t.ID)
			}
		} else {
			e.taskTable(p.Tasks, p.InFlight)
		}
		e.more(flag, p.Next)
	})
}

func (e *Env) taskTable(list []*task.Task, running []task.ID) {
	rows := make([][]string, len(list))
	for i, t := range list {
		rows[i] = []string{t.ID.String(), strconv.Itoa(t.Priority), describeState(t, running), t.Owner, t.Title}
	}
	e.table([]string{"ID", "PRIO", "STATE", "OWNER", "TITLE"}, rows)
}

// describeState describes the state of a task in a few words.
func describeState(t *task.Task, running []task.ID) string {
	if slices.Contains(running, t.ID) {
		return "running"
	}
	switch {
	case t.WaitingFor != "":
		return "waits for " + string(t.WaitingFor)
	case t.Status == task.Active:
		return string(t.WorkStatus)
	}
	return string(t.Status)
}

// TaskHistory lists archived tasks.
type TaskHistory struct {
	Owner   string `help:"Only tasks of this agent." placeholder:"AGENT" complete:"agent"`
	Status  string `help:"done or canceled." complete:"done,canceled"`
	Query   string `help:"Search title, description and summary." placeholder:"WORDS"`
	Project string `help:"Only tasks of this project." placeholder:"KEY" complete:"project"`
	From    string `help:"Archived at or after, RFC 3339." placeholder:"TIME"`
	To      string `help:"Archived before, RFC 3339." placeholder:"TIME"`
	Limit   int    `help:"Maximum number of results (1 to 200; default 50)." placeholder:"N"`
	Before  string `help:"Continue after an earlier page." placeholder:"CURSOR"`
	Quiet
}

// Run lists history.
func (c *TaskHistory) Run(e *Env) error {
	q := params{}.set("owner", c.Owner).set("status", c.Status).set("q", c.Query).set("project", c.Project).
		set("from", c.From).set("to", c.To).num("limit", c.Limit).set("before", c.Before)
	return printCall(e, "GET", q.appendTo("/api/tasks/history"), nil, func(p *taskPage) {
		rows := make([][]string, len(p.Tasks))
		for i, t := range p.Tasks {
			rows[i] = []string{t.ID.String(), string(t.Status), at(t.ArchivedAt), t.Owner, t.Title}
		}
		e.listed(c.Quiet.Quiet, []string{"ID", "STATE", "ARCHIVED", "OWNER", "TITLE"}, rows)
		e.more("--before", p.Next)
	})
}

// TaskWhy explains why a task does or does not run.
type TaskWhy struct{ OneTask }

// Run prints the reasons, the most decisive first.
func (c *TaskWhy) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	raw, list, err := e.reasons(id)
	if err != nil {
		return err
	}
	return e.answer(raw, func() {
		for _, r := range list {
			e.say("%s", hanging("  ", r.Message))
		}
	})
}

// reason is one line of the answer to why.
type reason struct {
	Message string `json:"message"`
}

func (e *Env) reasons(id string) ([]byte, []reason, error) {
	var out struct {
		Reasons []reason `json:"reasons"`
	}
	raw, err := e.call("GET", "/api/tasks/"+id+"/why", nil, &out)
	return raw, out.Reasons, err
}
