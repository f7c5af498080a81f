package mcpserver

import (
	"fmt"
	"strings"
	"time"

	"taskyard/service"
	"taskyard/task"
)

const (
	failsSignup = "Error signing up for task: "
	failsMove   = "Error moving task: "
	maxWait     = int(task.MaxWait / time.Second)
)

// claimID fences a call with the caller's claim. Only two schemas contain it,
// because it is rarely needed.
var claimID = count("claim", "id of your claim", 1, 0)

var queueTools = []tool{
	{
		name: "signup_for_task", core: true, doc: "Claim the first idle task of your queue", fails: failsSignup, run: signup, as: "agent_name",
		args: []arg{text("agent_name", "you").must(), count("wait_seconds", "time to wait for a task", 0, maxWait)},
	},
	{
		name: "move_task", core: true, doc: "Hand a task you are working on to another agent, as idle", fails: failsMove, run: move,
		args: []arg{
			id("task_id", "task").must(), text("current_agent", "you").must(),
			text("new_agent", "new owner").must(), text("comment", "what they need to know").must(),
			claimID,
		},
	},
	{
		name: "heartbeat", doc: "Renew your claim while you make no other calls", run: heartbeat,
		args: []arg{taskID, claimID.hide()},
	},
	{
		name: "release_task", doc: "Release your claim; the task becomes idle", run: release,
		args: []arg{taskID, claimID.hide()},
	},
	{
		name: "batch_signup_for_tasks", doc: "Claim several tasks of your queue", fails: failsSignup, run: batchSignup, as: "agent_name",
		args: []arg{text("agent_name", "you").must(), count("count", "at most this many", 1, task.MaxBatch).must()},
	},
	{
		name: "auto_signup", doc: "Claim tasks until you hold this many", fails: failsSignup, run: autoSignup, as: "agent_name",
		args: []arg{text("agent_name", "you").must(), count("max_concurrent", "claims to hold", 1, task.MaxBatch).must()},
	},
	{
		name: "complete_and_signup", doc: "Complete a task and claim your next",
		fails: failsSignup, run: completeAndSignup, as: "agent_name", changes: true,
		args: []arg{
			id("task_id", "task to complete").must(), text("agent_name", "you").must(),
			text("summary", "what was done"), claimID.hide(),
		},
	},
	{
		name: "reassign_multiple_tasks", doc: "Hand several of your tasks to another agent, all or none",
		fails: failsMove, run: reassign, as: "current_agent", changes: true,
		args: []arg{
			list("task_ids", isIDs, "your tasks").must(), text("new_agent", "new owner").must(),
			text("comment", "what they need to know").must(), text("current_agent", "default you"),
		},
	},
	{
		name: "get_my_queue", reads: true, doc: "List your active tasks in order", run: myQueue, as: "agent_name",
		args: append([]arg{text("agent_name", "you").must()}, paging...),
	},
}

// paging are the arguments of lists of open tasks.
var paging = []arg{flag("full", "include descriptions"), count("limit", "default 50", 1, 500), text("after", "next cursor")}

const openLimit = 50

func signup(c *call) (answer, error) {
	list, err := c.svc.SignupWait(c.ctx, c.actor, c.agentID, 1, seconds(c.count("wait_seconds", 0)))
	switch {
	case err != nil:
		return answer{}, err
	case len(list) == 0:
		return c.nothingClaimed(func(held []task.ID) any { return oneTask{Held: held} })
	}
	v := claimed(list[0])
	return answer{line: claimedLine(list), structured: oneTask{Task: v}, body: v}, nil
}

// nothingClaimed returns the answer of a signup that claimed nothing. It lists the
// tasks that the agent holds, so that an agent that was restarted finds its
// work.
func (c *call) nothingClaimed(structured func(held []task.ID) any) (answer, error) {
	held, err := c.svc.Held(c.ctx, c.actor, c.agentID)
	a := answer{line: noIdleText(c.agentID), structured: structured(held), body: none}
	if len(held) > 0 {
		a.line += "\n\n" + heldTasksText(held)
	}
	return a, err
}

func heldTasksText(held []task.ID) string {
	return "You hold " + hashes(held) + ": continue with get_task, or release_task"
}

type oneTask struct {
	Task *claimView `json:"task"`
	Held []task.ID  `json:"held,omitempty"` // if nothing was claimed
}

type manyTasks struct {
	Tasks []*claimView `json:"tasks"`
	Held  []task.ID    `json:"held,omitempty"` // if nothing was claimed
}

func noIdleText(agent string) string { return "No idle tasks available in queue for agent: " + agent }

func claimedLine(list []*task.Task) string {
	return numbers(list) + " claimed and set to working status"
}

// numbers returns "Task #1", or "Tasks #1, #2".
func numbers(list []*task.Task) string {
	ids := make([]task.ID, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	if len(ids) == 1 {
		return "Task " + hashes(ids)
	}
	return "Tasks " + hashes(ids)
}

// hashes returns "#1, #2".
func hashes(ids []task.ID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = "#" + id.String()
	}
	return strings.Join(words, ", ")
}

func batchSignup(c *call) (answer, error) {
	list, err := c.svc.Signup(c.ctx, c.actor, c.agentID, c.count("count", 0))
	if err != nil {
		return answer{}, err
	}
	if len(list) == 0 {
		return c.nothingClaimed(func(held []task.ID) any { return manyTasks{Tasks: []*claimView{}, Held: held} })
	}
	return claimedTasks(c.agentID, list, manyTasks{Tasks: claimedMany(list)}), nil
}

// claimedTasks returns the answer of tools that claim several tasks.
func claimedTasks(agent string, list []*task.Task, structured any) answer {
	if len(list) == 0 {
		return answer{line: noIdleText(agent), structured: structured, body: none}
	}
	return answer{line: claimedLine(list), structured: structured, body: claimedMany(list)}
}

type autoTasks struct {
	Tasks []*claimView `json:"tasks"`
	Held  []task.ID    `json:"held"`
}

func autoSignup(c *call) (answer, error) {
	limit := c.count("max_concurrent", 0)
	got, err := c.svc.AutoSignup(c.ctx, c.actor, c.agentID, limit)
	a := claimedTasks(c.agentID, got.Tasks, autoTasks{claimedMany(got.Tasks), got.Held})
	if len(got.Tasks) == 0 && len(got.Held) >= limit {
		a.line = fmt.Sprintf("Nothing claimed: %s already holds %d (max_concurrent %d)", c.agentID, len(got.Held), limit)
	}
	return a, err
}

func move(c *call) (answer, error) {
	from, to := c.text("current_agent"), c.text("new_agent")
	t, err := c.svc.MoveTask(c.ctx, c.actor,
		service.Move{TaskID: c.id("task_id"), CurrentAgent: from, NewAgent: to, Comment: c.text("comment"), Claim: int64(c.count("claim", 0))})
	if err != nil {
		return answer{}, err
	}
	v := claimed(t)
	return answer{line: "Task #" + t.ID.String() + " transferred from " + from + " to " + to, structured: oneTask{Task: v}, body: v}, nil
}

func heartbeat(c *call) (answer, error) {
	t, err := c.svc.Heartbeat(c.ctx, c.actor, c.id("taskId"), int64(c.count("claim", 0)))
	if err != nil {
		return answer{}, err
	}
	return answer{structured: claimAnswer{t.ID, t.Claim}}, nil
}

func release(c *call) (answer, error) {
	t, err := c.svc.ReleaseClaim(c.ctx, c.actor, c.id("taskId"), int64(c.count("claim", 0)))
	if err != nil {
		return answer{}, err
	}
	return answer{structured: claimAnswer{ID: t.ID}}, nil
}

// claimAnswer is the state of a claim; the rest of the task is unchanged.
type claimAnswer struct {
	ID    task.ID     `json:"id"`
	Claim *task.Claim `json:"claim"`
}

type completedAndNext struct {
	Completed any        `json:"completed"`
	Task      *claimView `json:"task"`
	Paused    string     `json:"paused,omitempty"`
	Held      []task.ID  `json:"held,omitempty"` // if nothing was claimed
}

func completeAndSignup(c *call) (answer, error) {
	done, err := c.svc.CompleteAndSignup(c.ctx, c.actor, c.agentID, c.id("task_id"), c.text("summary"), int64(c.count("claim", 0)))
	if err != nil {
		return answer{}, err
	}
	next := noIdleText(c.agentID)
	switch {
	case done.Task != nil:
		next = claimedLine([]*task.Task{done.Task})
	case done.Paused != "":
		next = "No task claimed: " + done.Paused
	}
	if len(done.Held) > 0 {
		next += "\n" + heldTasksText(done.Held)
	}
	return answer{
		line:       "Task #" + done.Completed.ID.String() + " completed\n" + next,
		structured: completedAndNext{c.short(done.Completed), claimed(done.Task), done.Paused, done.Held},
	}, nil
}

func reassign(c *call) (answer, error) {
	to := c.text("new_agent")
	list, err := c.svc.Reassign(c.ctx, c.actor, c.agentID, c.ids("task_ids"), to, c.text("comment"))
	moved := make([]any, len(list))
	for i, t := range list {
		moved[i] = c.short(t)
	}
	return answer{
		line: numbers(list) + " transferred from " + c.agentID + " to " + to, body: moved, compact: true,
		structured: struct {
			Tasks []any `json:"tasks"`
		}{moved},
	}, err
}

func myQueue(c *call) (answer, error) {
	if c.bool("full") {
		return c.page(c.svc.Queue(c.ctx, c.actor, c.agentID, true, c.count("limit", openLimit), c.text("after")))
	}
	return c.page(c.svc.QueueLines(c.ctx, c.actor, c.agentID, c.count("limit", openLimit), c.text("after")))
}

// page returns the answer of a list: short tasks or, if the caller requested
// full, with descriptions and plans.
func (c *call) page(p service.Page, err error) (answer, error) {
	m := listedTasks{Tasks: listed(p.Tasks), Next: p.Next, Indexing: p.Indexing}
	if c.bool("full") {
		m.Tasks = pages(p.Tasks)
	}
	if task.BudgetFromContext(c.ctx).Cut() {
		m.Note = cutNote
	}
	return answer{structured: m, compact: true}, err
}

type listedTasks struct {
	Tasks any    `json:"tasks"`
	Next  string `json:"next,omitempty"`
	Note  string `json:"note,omitempty"` // says that the list was cut because of its size

	Indexing int `json:"indexing,omitempty"` // per cent, while a search may miss tasks
}

// cutNote says that a list is shorter than its limit, and how to continue.
const cutNote = "cut: an answer has at most 256 KiB; read on from next"
