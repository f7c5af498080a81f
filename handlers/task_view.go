package handlers

import (
	"fmt"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// maxActivity is how many entries of a task's stream the page shows.
const maxActivity = 200

// whyInput is what is known about a task that runs or does not.
type whyInput struct {
	task     *task.Task
	run      *task.Run   // open one, or nil
	owner    *task.Agent // nil: not defined
	attempts int
	nextTick task.Time   // 0: no ticks
	paused   *task.Pause // of the owner or the yard, or nil
	now      task.Time
}

// whyLines says in sentences why a task is or is not running; nothing for
// history.
func whyLines(w whyInput) []string {
	t := w.task
	switch {
	case t.Status.Archived():
		return nil
	case t.Status == task.Draft:
		return append([]string{"It is a draft: nobody works on it until somebody starts it."}, ownerTrouble(w)...)
	}
	if open := openLines(w); len(open) > 0 {
		return append(pauseLines(w), open...)
	}
	if t.QuestionID != 0 {
		return []string{"A question to people is open: no run and no signup before the answer."}
	}
	if bad := ownerTrouble(w); len(bad) > 0 {
		return append(bad, pauseLines(w)...)
	}
	if stopped := pauseLines(w); len(stopped) > 0 && t.Failures < w.attempts {
		return append(stopped, failed(t)...)
	}
	return append(pauseLines(w), idleLines(w)...)
}

// pauseLines tell of the pause that keeps a task from being started or
// claimed; what runs or is claimed goes on.
func pauseLines(w whyInput) []string {
	p := w.paused
	if p == nil || w.task.Claim != nil || w.run != nil && w.run.Status == task.RunRunning {
		return nil
	}
	what := "The yard"
	if p.Agent != "" {
		what = p.Agent
	}
	return []string{fmt.Sprintf("%s is paused by %s since %s UTC: %s", what, views.ActorLabel(p.By), views.Clock(p.Since), p.Brief())}
}

// openLines tell of a claim and of a run that is open.
func openLines(w whyInput) (list []string) {
	at := func(t task.Time) string { return views.Clock(t) + " UTC" }
	if r := w.run; r != nil {
		switch {
		case r.Phase == task.PhaseApproval && r.Approval != nil && r.Approval.ExpiresAt != 0:
			list = append(list, fmt.Sprintf("Run %d waits until %s for a reviewer's approval.", r.ID, at(r.Approval.ExpiresAt)))
		case r.Phase == task.PhaseApproval:
			list = append(list, fmt.Sprintf("Run %d waits for a reviewer's approval.", r.ID))
		case r.Phase == task.PhaseQueued && r.NotBefore > w.now:
			list = append(list, fmt.Sprintf("Run %d is queued and starts no sooner than %s.", r.ID, at(r.NotBefore)))
		case r.Phase == task.PhaseQueued:
			list = append(list, fmt.Sprintf("Run %d is queued: it starts when a place is free.", r.ID))
		default:
			list = append(list, fmt.Sprintf("Run %d %s.", r.ID, views.RunSentence(r)))
		}
	}
	if c := w.task.Claim; c != nil {
		list = append(list, fmt.Sprintf("%s works on it until %s, or longer with each sign of life.", views.ActorLabel(c.Holder), at(c.ExpiresAt)))
	}
	return list
}

// ownerTrouble tells why the owner cannot be started.
func ownerTrouble(w whyInput) []string {
	id := w.task.Owner
	switch {
	case w.owner == nil:
		return []string{"Its owner " + id + " is not defined any more: move it to another agent."}
	case !w.owner.Serving:
		return []string{"The definition of " + id + " is invalid: mend it, or move the task."}
	case w.owner.PullOnly && w.task.Status == task.Active:
		return []string{id + " claims its work itself; Taskyard does not start it: " + w.owner.PullReason}
	}
	return nil
}

func idleLines(w whyInput) []string {
	t := w.task
	switch {
	case t.Failures >= w.attempts:
		return []string{"It is stuck: no tick and no wake tries it again until a person runs it.", lastFailure(t)}
	case w.nextTick == 0:
		return append(failed(t), "No tick is planned: it runs when a person presses “Run now”.")
	}
	return append(failed(t), "Nothing speaks against it: the next tick at "+views.Clock(w.nextTick)+" UTC makes a run.")
}

func failed(t *task.Task) []string {
	if t.Failures == 0 {
		return nil
	}
	return []string{lastFailure(t)}
}

func lastFailure(t *task.Task) string {
	if t.LastFailure == "" {
		return "Its last run failed."
	}
	return "Its last run failed: " + t.LastFailure
}

// family lists ancestors from the root, the task, and its subtasks.
func family(p service.TaskPage) []views.FamilyItem {
	var list []views.FamilyItem
	for _, t := range p.Ancestors {
		list = append(list, views.FamilyItem{Task: t, Depth: len(list)})
	}
	depth := len(list)
	list = append(list, views.FamilyItem{Task: p.Task, Depth: depth})
	for _, t := range p.Subtasks {
		list = append(list, views.FamilyItem{Task: t, Depth: depth + 1})
	}
	return list
}

// activity merges what happened into one stream of the newest entries, and
// tells how many are left out.
func activity(p service.TaskPage) (list []views.ActivityItem, older int) {
	messages := make([]*task.Message, len(p.Task.Comments))
	for i := range p.Task.Comments {
		messages[i] = messageOf(p.Task, p.Task.Comments[i])
	}
	events := make([]*task.Event, len(p.Events))
	for i := range p.Events {
		events[i] = &p.Events[i]
	}
	list = views.Stream(messages, events, p.Runs)
	older = max(0, len(list)-maxActivity)
	return list[older:], older
}

func messageOf(t *task.Task, c task.Comment) *task.Message {
	return &task.Message{ID: c.ID, TaskID: t.ID, Kind: c.Kind, Author: c.Author, Content: c.Content, CreatedAt: c.CreatedAt}
}

// question returns the open question, or nil.
func question(t *task.Task) *task.Message {
	for _, c := range t.Comments {
		if c.ID == t.QuestionID {
			return messageOf(t, c)
		}
	}
	return nil
}

func usageOf(runs []*task.Run) (u task.Usage) {
	for _, r := range runs {
		u.ToolCalls += r.Usage.ToolCalls
		u.TokensIn += r.Usage.TokensIn
		u.TokensOut += r.Usage.TokensOut
		u.CostUSD += r.Usage.CostUSD
	}
	return u
}

// neighbours finds a task in its queue: what stands before and after it, and
// its place, such as "2 of 6"; "" when it is not among those given.
func neighbours(queue []*task.Task, id task.ID, total int) (prev, next task.ID, place string) {
	for i, t := range queue {
		if t.ID != id {
			continue
		}
		if i > 0 {
			prev = queue[i-1].ID
		}
		if i+1 < len(queue) {
			next = queue[i+1].ID
		}
		return prev, next, fmt.Sprintf("%d of %d", i+1, max(total, len(queue)))
	}
	return 0, 0, ""
}

// changedBy tells who changed a task last, and what.
func changedBy(p service.TaskPage) string {
	if len(p.Events) == 0 {
		return "The task has changed meanwhile."
	}
	e := &p.Events[len(p.Events)-1]
	return views.ActorLabel(e.Actor) + " " + views.EventSentence(e) + " meanwhile."
}
