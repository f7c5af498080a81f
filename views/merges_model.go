package views

import "taskyard/task"

// MergesModel is the merge queue: what is on its way into a branch, and what
// became of the others.
type MergesModel struct {
	Project string             // "" is all
	Queue   []*task.MergeEntry // in its order
	Ended   []*task.MergeEntry // the newest first
	Before  task.ID            // where this page of the ended ones begins, 0 for the first
	Next    task.ID            // where the next one does, 0 for none
}

// state returns the merges of the queue in a state, in their order.
func (m *MergesModel) state(s task.MergeState) []*task.MergeEntry {
	var list []*task.MergeEntry
	for _, e := range m.Queue {
		if e.State == s {
			list = append(list, e)
		}
	}
	return list
}

// mergeGroups are the parts of the queue, in the order of the page.
var mergeGroups = []struct {
	state task.MergeState
	title string
}{{task.MergeRunning, "In progress"}, {task.MergeWaiting, "Waiting"}, {task.MergeQueued, "Queued"}}

func (m *MergesModel) older() string {
	if m.Next == 0 {
		return ""
	}
	return URL.Merges(m.Project, m.Next)
}

func mergeTitle(m *MergesModel) string {
	if m.Project == "" {
		return "Merge queue"
	}
	return "Merge queue of " + m.Project
}

// mergeSince is the moment that the line of a merge tells.
func mergeSince(e *task.MergeEntry) task.Time {
	switch {
	case e.EndedAt != 0:
		return e.EndedAt
	case e.StartedAt != 0 && e.State == task.MergeRunning:
		return e.StartedAt
	}
	return e.CreatedAt
}
