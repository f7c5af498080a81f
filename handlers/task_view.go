package handlers

import (
	"fmt"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// maxActivity is how many entries of a task's stream the page shows.
const maxActivity = 200

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
		u = u.Plus(r.Usage)
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
