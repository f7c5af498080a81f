package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"taskyard/task"
)

// TaskClaim claims tasks.
type TaskClaim struct {
	Agent string `help:"Whose queue (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	Count int    `help:"Claim up to so many (1 to 50)." placeholder:"N"`
	Wait  int    `help:"Wait up to so many seconds for a task (0 to 50)." placeholder:"SECONDS"`
	Quiet
}

// Run claims; an empty queue is ErrNothing.
func (c *TaskClaim) Run(y *Yard) error {
	agent, err := y.agent(c.Agent)
	if err != nil {
		return err
	}
	body := map[string]any{}
	if c.Count != 0 {
		body["count"] = c.Count
	}
	if c.Wait != 0 {
		body["waitSeconds"] = c.Wait
	}
	var out struct {
		Task  *task.Task
		Tasks []*task.Task
	}
	raw, err := y.wait(time.Duration(c.Wait)*time.Second, "POST", agentPath(agent, "/signup"), body, &out)
	if err != nil {
		return err
	}
	if out.Task != nil {
		out.Tasks = append(out.Tasks, out.Task)
	}
	return y.claimed(raw, agent, out.Tasks, c.Quiet.Quiet)
}

func (y *Yard) claimed(raw []byte, agent string, list []*task.Task, quiet bool) error {
	err := y.answer(raw, func() {
		for i, t := range list {
			switch {
			case quiet:
				y.say("%s", t.ID)
			default:
				if i > 0 {
					y.say("")
				}
				y.showTask(t, nil)
			}
		}
	})
	if err == nil && len(list) == 0 {
		return nothing("no task is free in the queue of " + clean(agent))
	}
	return err
}

// TaskDone completes a task.
type TaskDone struct {
	OneTask
	Summary string `help:"What was done, for the history; - reads it from stdin." placeholder:"TEXT"`
	Next    bool   `help:"Claim the next task of the queue in the same act; exit code 3 when none is left."`
	Agent   string `help:"With --next: whose queue." placeholder:"AGENT" complete:"agent"`
	Words
	Claimed
	Quiet
}

// Run completes a task, and with Next claims another.
func (c *TaskDone) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	summary, err := y.text(c.Summary, c.File)
	if err != nil {
		return err
	}
	body := c.fence(map[string]any{})
	if summary != "" {
		body["summary"] = summary
	}
	if c.Next {
		return c.next(y, id, body)
	}
	return y.act(id, "/complete", body, func(t *task.Task) {
		if c.Quiet.Quiet {
			y.say("%s", t.ID)
			return
		}
		y.say("%s is done: %s", hash(t.ID), clean(t.Title))
	})
}

func (c *TaskDone) next(y *Yard, id string, body map[string]any) error {
	agent, err := y.agent(c.Agent)
	if err != nil {
		return err
	}
	body["taskId"] = id
	var out struct {
		Completed, Task *task.Task
		Paused          string
	}
	raw, err := y.call("POST", agentPath(agent, "/complete-and-signup"), body, &out)
	if err != nil {
		return err
	}
	if !y.JSON && !c.Quiet.Quiet {
		y.say("#%s is done", id)
	}
	var list []*task.Task
	if out.Task != nil {
		list = append(list, out.Task)
	}
	err = y.claimed(raw, agent, list, c.Quiet.Quiet)
	if out.Paused != "" && errors.Is(err, ErrNothing) {
		return nothing("no task is claimed: " + clean(out.Paused))
	}
	return err
}

// fence adds the claim to a request's body.
func (c Claimed) fence(body map[string]any) map[string]any {
	if c.Claim != 0 {
		body["claim"] = c.Claim
	}
	return body
}

// act posts to a task, or without an id to all of them, and prints the task
// that comes back.
func (y *Yard) act(id, rest string, body any, people func(*task.Task)) error {
	return y.change("POST", id, rest, body, people)
}

func (y *Yard) change(method, id, rest string, body any, people func(*task.Task)) error {
	var t task.Task
	raw, err := y.call(method, strings.TrimSuffix("/api/tasks/"+id, "/")+rest, body, &t)
	if err != nil {
		return err
	}
	return y.answer(raw, func() { people(&t) })
}

// TaskRelease gives a claim back.
type TaskRelease struct {
	OneTask
	Claimed
}

// Run releases the claim.
func (c *TaskRelease) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	return y.act(id, "/release", c.fence(map[string]any{}), func(t *task.Task) { y.say("%s is free", hash(t.ID)) })
}

// TaskBeat renews a claim.
type TaskBeat struct {
	OneTask
	Claimed
}

// Run renews the lease.
func (c *TaskBeat) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	return y.act(id, "/heartbeat", c.fence(map[string]any{}), func(t *task.Task) {
		if t.Claim != nil {
			y.say("%s is claimed by %s until %s", hash(t.ID), clean(t.Claim.Holder), at(t.Claim.ExpiresAt))
		}
	})
}

// TaskMove hands a task over.
type TaskMove struct {
	ID      string `arg:"" name:"id" help:"Id of the task." complete:"task"`
	To      string `arg:"" name:"agent" help:"Who gets it." complete:"agent"`
	Comment string `short:"m" help:"What the new owner must know; - reads it from stdin." placeholder:"TEXT"`
	From    string `help:"The present owner (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	Words
	Claimed
}

// Run moves the task.
func (c *TaskMove) Run(y *Yard) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	text, err := y.text(c.Comment, c.File)
	if err != nil {
		return err
	}
	from, err := y.agent(c.From)
	if err != nil {
		return err
	}
	body := c.fence(map[string]any{"currentAgent": from, "newAgent": c.To, "comment": text})
	var out struct{ Task task.Task }
	raw, err := y.call("POST", "/api/tasks/"+id+"/move", body, &out)
	if err != nil {
		return err
	}
	return y.answer(raw, func() { y.say("%s is handed from %s to %s", hash(out.Task.ID), clean(from), clean(out.Task.Owner)) })
}

// TaskCancel cancels a task.
type TaskCancel struct {
	OneTask
	Reason string `help:"Why; - reads it from stdin." placeholder:"TEXT"`
}

// Run cancels the task and what is below it.
func (c *TaskCancel) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	reason, err := y.text(c.Reason, "")
	if err != nil {
		return err
	}
	var out struct{ Canceled []task.ID }
	raw, err := y.call("POST", "/api/tasks/"+id+"/cancel", reasonBody(reason), &out)
	if err != nil {
		return err
	}
	return y.answer(raw, func() { y.say("canceled: %s", hashes(out.Canceled)) })
}

func reasonBody(reason string) map[string]any {
	body := map[string]any{}
	if reason != "" {
		body["reason"] = reason
	}
	return body
}

// TaskRun dispatches a run.
type TaskRun struct {
	OneTask
	Quiet
}

// Run asks for a run now.
func (c *TaskRun) Run(y *Yard) error {
	id, err := y.id(c.ID)
	if err != nil {
		return err
	}
	var out struct{ Run task.Run }
	raw, err := y.call("POST", "/api/tasks/"+id+"/run", nil, &out)
	if err != nil {
		return err
	}
	return y.answer(raw, func() { y.sayRun(&out.Run, c.Quiet.Quiet) })
}

// sayRun tells in a line what became of a run.
func (y *Yard) sayRun(r *task.Run, quiet bool) {
	if quiet {
		y.say("%s", r.ID)
		return
	}
	y.say("run %s of #%s by %s: %s", r.ID, r.TaskID, clean(r.Agent), runState(r))
}

func runState(r *task.Run) string {
	return fmt.Sprintf("%s (%s)", clean(string(r.Status)), clean(string(r.Phase)))
}
