package mcpserver

import (
	"strconv"

	"taskyard/task"
)

// fullAnswer is an argument of every tool that changes a task. It is not in the
// schemas, because agents rarely need it; the work guide mentions it.
var fullAnswer = flag("full", "the whole task in place of what changed").hide()

// changedView is the answer to a change, without what the caller already knows.
type changedView struct {
	ID         task.ID         `json:"id"`
	Version    int64           `json:"version"`
	Owner      string          `json:"owner"`
	Status     task.Status     `json:"status"`
	WorkStatus task.WorkStatus `json:"workStatus,omitempty"`
	WaitingFor task.WaitingFor `json:"waitingFor,omitempty"`
	Parent     task.ID         `json:"parentTaskId,omitzero"`
	Steps      string          `json:"steps,omitempty"` // completed steps, such as 3/10
	Next       string          `json:"next,omitempty"`  // the first open step, with its index
	Resources  int             `json:"resources,omitzero"`
	Result     *resultView     `json:"result,omitempty"` // while it waits for people or for its merge

	NextDetails string `json:"nextDetails,omitempty"` // details of that step, possibly truncated, if another step was completed
}

// resultView is a result for the agent that submitted it.
type resultView struct {
	Number int              `json:"number"`
	State  task.ResultState `json:"state"`
	Flags  []string         `json:"flags,omitempty"`
}

const nextDetailsBytes = 120

// nextDetails returns the details of the first open step, which a claim left
// out. Truncated details end with an ellipsis: get_task has all of them.
func nextDetails(t *task.Task) string {
	for _, s := range t.Steps {
		if !s.Done && t.Status == task.Active {
			return task.ClipText(s.Details, nextDetailsBytes)
		}
	}
	return ""
}

func changedTask(t *task.Task) changedView {
	v := changedView{
		ID: t.ID, Version: t.Version, Owner: t.Owner, Status: t.Status, WorkStatus: t.WorkStatus, WaitingFor: t.WaitingFor,
		Parent: t.ParentTaskID, Steps: progress(t), Resources: len(t.Resources),
	}
	if r := t.Review; r != nil && t.Awaits != "" {
		v.Result = &resultView{r.Result, r.State, r.Flags}
	}
	for i, s := range t.Steps {
		if !s.Done && t.Status == task.Active {
			v.Next = strconv.Itoa(i) + ": " + s.Title
			break
		}
	}
	return v
}

// progress returns how many steps are completed, "" if there are none.
func progress(t *task.Task) string {
	done, total := t.DoneSteps()
	if total == 0 {
		return ""
	}
	return strconv.Itoa(done) + "/" + strconv.Itoa(total)
}

// changed returns the answer of tools that change one task: short, unless the
// whole task was requested.
func (c *call) changed(t *task.Task, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{structured: c.short(t), compact: true}, nil
}

// short returns a task after a change: short, unless the whole task was
// requested.
func (c *call) short(t *task.Task) any {
	if c.bool("full") {
		return view(t)
	}
	return changedTask(t)
}

// listedView is a task in a list, without its plan, thread and resources.
type listedView struct {
	ID         task.ID         `json:"id"`
	Title      string          `json:"title"`
	Owner      string          `json:"owner"`
	Status     task.Status     `json:"status"`
	WorkStatus task.WorkStatus `json:"workStatus,omitempty"`
	WaitingFor task.WaitingFor `json:"waitingFor,omitempty"`
	Priority   int             `json:"priority,omitzero"`
	Parent     task.ID         `json:"parentTaskId,omitzero"`
	BlockedBy  []task.ID       `json:"blockedBy,omitempty"`
	Labels     []string        `json:"labels,omitempty"`
	Steps      string          `json:"steps,omitempty"` // completed steps, such as 3/10
	Summary    string          `json:"summary,omitempty"`
	ArchivedAt task.Time       `json:"archivedAt,omitzero"`
}

const listedSummary = 500 // bytes of a summary in a list

func listed(list []*task.Task) []listedView {
	out := make([]listedView, len(list))
	for i, t := range list {
		out[i] = listedView{
			ID: t.ID, Title: t.Title, Owner: t.Owner, Status: t.Status, WorkStatus: t.WorkStatus, WaitingFor: t.WaitingFor,
			Priority: t.Priority, Parent: t.ParentTaskID, BlockedBy: t.BlockedBy, Labels: t.Labels, Steps: progress(t),
			Summary: task.ClipText(t.Summary, listedSummary), ArchivedAt: t.ArchivedAt,
		}
	}
	return out
}
