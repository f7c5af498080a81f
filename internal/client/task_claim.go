package client

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"taskyard/internal/sleep"
	"taskyard/task"
)

// TaskClaim claims tasks.
type TaskClaim struct {
	Agent string `help:"Agent of the queue (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	Count int    `help:"Maximum number of tasks to claim (1 to 50)." placeholder:"N"`
	Wait  int    `help:"Seconds to wait for a task (0 to 50)." placeholder:"SECONDS"`
	Quiet
}

// Run claims tasks; it returns ErrNothing for an empty queue.
func (c *TaskClaim) Run(e *Env) error {
	agent, err := e.agent("with --agent", c.Agent)
	if err != nil {
		return err
	}
	body := payload{}
	if c.Count != 0 {
		body["count"] = c.Count
	}
	if c.Wait != 0 {
		body["waitSeconds"] = c.Wait
	}
	var out struct {
		Task  *task.Task
		Tasks []*task.Task
		Held  []task.ID
	}
	raw, err := e.wait(time.Duration(c.Wait)*time.Second, "POST", agentPath(agent, "/signup"), body, &out)
	if err != nil {
		return err
	}
	if out.Task != nil {
		out.Tasks = append(out.Tasks, out.Task)
	}
	return e.claimed(raw, agent, out.Tasks, out.Held, c.Quiet.Quiet)
}

// claimed prints claimed tasks. If there are none, it returns ErrNothing with
// the tasks that the agent still holds.
func (e *Env) claimed(raw []byte, agent string, list []*task.Task, claimed []task.ID, quiet bool) error {
	err := e.answer(raw, func() {
		for i, t := range list {
			switch {
			case quiet:
				e.say("%s", t.ID)
			default:
				if i > 0 {
					e.say("")
				}
				e.showTask(t, nil)
			}
		}
	})
	if err == nil && len(list) == 0 {
		why := "no task is idle in the queue of " + printable(agent)
		if len(claimed) > 0 {
			why += "; it holds " + hashes(claimed)
		}
		return nothingError(why)
	}
	return err
}

// TaskDone completes a task.
type TaskDone struct {
	OneTask
	Summary string `help:"What was done, for the history; - reads it from stdin." placeholder:"TEXT"`
	Next    bool   `help:"Also claim the next task of the queue; exit code 3 if none is left."`
	Agent   string `help:"With --next: agent of the queue." placeholder:"AGENT" complete:"agent"`
	TextFile
	Claimed
	Quiet
}

// Run completes a task, and with Next claims another.
func (c *TaskDone) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	summary, err := e.text(c.Summary, c.File)
	if err != nil {
		return err
	}
	body := c.fence(payload{}.text("summary", summary))
	if c.Next {
		return c.next(e, id, body)
	}
	var t task.Task
	raw, err := e.complete("/api/tasks/"+id+"/complete", body, &t)
	if err != nil {
		return err
	}
	return e.answer(raw, func() {
		if c.Quiet.Quiet {
			e.say("%s", t.ID)
			return
		}
		e.say("%s %s: %s", hash(t.ID), completed(&t), printable(t.Title))
	})
}

// completed returns the state of a task after its completion was requested.
func completed(t *task.Task) string {
	switch t.WaitingFor {
	case task.WaitsReview:
		return "waits for review"
	case task.WaitsMerge:
		return "waits for its merge"
	}
	return "is done"
}

// checksPause is the pause between two calls that wait for the checks of a
// task.
const checksPause = time.Second

// complete posts a completion, and repeats it while the checks of the task run.
func (e *Env) complete(path string, body, out any) ([]byte, error) {
	for {
		raw, err := e.wait(task.MaxWait, http.MethodPost, path, body, out)
		var refused *ResponseError
		if !errors.As(err, &refused) || refused.Code != string(task.CodeChecksRunning) {
			return raw, err
		}
		if !sleep.For(e.Ctx, checksPause) {
			return nil, e.Ctx.Err()
		}
	}
}

func (c *TaskDone) next(e *Env, id string, body payload) error {
	agent, err := e.agent("with --agent", c.Agent)
	if err != nil {
		return err
	}
	body["taskId"] = id
	var out struct {
		Completed, Task *task.Task
		Paused          string
		Held            []task.ID
	}
	raw, err := e.complete(agentPath(agent, "/complete-and-signup"), body, &out)
	if err != nil {
		return err
	}
	if !e.JSON && !c.Quiet.Quiet && out.Completed != nil {
		e.say("#%s %s", id, completed(out.Completed))
	}
	var list []*task.Task
	if out.Task != nil {
		list = append(list, out.Task)
	}
	err = e.claimed(raw, agent, list, out.Held, c.Quiet.Quiet)
	if out.Paused != "" && errors.Is(err, ErrNothing) {
		return nothingError("no task is claimed: " + printable(out.Paused))
	}
	return err
}

// fence adds the claim to a request's body.
func (c Claimed) fence(body payload) payload {
	if c.Claim != 0 {
		body["claim"] = c.Claim
	}
	return body
}

// act posts to a task, or without an ID to all of them, and prints the task in
// the answer.
func (e *Env) act(id, suffix string, body any, people func(*task.Task)) error {
	return e.change("POST", id, suffix, body, people)
}

func (e *Env) change(method, id, suffix string, body any, people func(*task.Task)) error {
	return printCall(e, method, strings.TrimSuffix("/api/tasks/"+id, "/")+suffix, body, people)
}

// TaskRelease releases a claim.
type TaskRelease struct {
	OneTask
	Claimed
}

// Run releases the claim.
func (c *TaskRelease) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	return e.act(id, "/release", c.fence(payload{}), func(t *task.Task) { e.say("%s is free", hash(t.ID)) })
}

// TaskBeat renews a claim.
type TaskBeat struct {
	OneTask
	Claimed
}

// Run renews the lease.
func (c *TaskBeat) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	return e.act(id, "/heartbeat", c.fence(payload{}), func(t *task.Task) {
		if t.Claim != nil {
			e.say("%s is claimed by %s until %s", hash(t.ID), printable(t.Claim.Holder), at(t.Claim.ExpiresAt))
		}
	})
}

// TaskMove hands a task over.
type TaskMove struct {
	ID      string `arg:"" name:"id" help:"ID of the task." complete:"task"`
	To      string `arg:"" name:"agent" help:"New owner." complete:"agent"`
	Comment string `short:"m" help:"What the new owner needs to know; - reads it from stdin." placeholder:"TEXT"`
	From    string `help:"The current owner (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	TextFile
	Claimed
}

// Run moves the task.
func (c *TaskMove) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	text, err := e.text(c.Comment, c.File)
	if err != nil {
		return err
	}
	from, err := e.agent("with --from", c.From)
	if err != nil {
		return err
	}
	body := c.fence(payload{"currentAgent": from, "newAgent": c.To, "comment": text})
	return printCall(e, "POST", "/api/tasks/"+id+"/move", body, func(out *struct{ Task task.Task }) {
		e.say("%s was handed over from %s to %s", hash(out.Task.ID), printable(from), printable(out.Task.Owner))
	})
}

// TaskCancel cancels a task.
type TaskCancel struct {
	OneTask
	Reason string `help:"Reason; - reads it from stdin." placeholder:"TEXT"`
}

// Run cancels the task and its subtasks.
func (c *TaskCancel) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	reason, err := e.text(c.Reason, "")
	if err != nil {
		return err
	}
	body := payload{}.text("reason", reason)
	return printCall(e, "POST", "/api/tasks/"+id+"/cancel", body, func(out *struct{ Canceled []task.ID }) {
		e.say("canceled: %s", hashes(out.Canceled))
	})
}

// TaskRun starts a run.
type TaskRun struct {
	OneTask
	Quiet
}

// Run requests a run now.
func (c *TaskRun) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/tasks/"+id+"/run", nil, func(out *struct{ Run task.Run }) { e.sayRun(&out.Run, c.Quiet.Quiet) })
}

// sayRun prints the state of a run on one line.
func (e *Env) sayRun(r *task.Run, quiet bool) {
	if quiet {
		e.say("%s", r.ID)
		return
	}
	e.say("run %s of #%s by %s: %s", r.ID, r.TaskID, printable(r.Agent), runState(r))
}

func runState(r *task.Run) string { return printable(r.State().Text()) }
