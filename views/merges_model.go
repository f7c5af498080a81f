package views

import "taskyard/task"

// MergesModel is the merge queue: pending merges, and finished ones.
type MergesModel struct {
	Project string             // "": all
	Queue   []*task.MergeEntry // in queue order
	Ended   []*task.MergeEntry // newest first
	Before  task.ID            // start of this page of finished ones, 0 for the first
	Next    task.ID            // start of the next page, 0 for none
}

// state returns the merges of the queue with a state, in order.
func (m *MergesModel) state(s task.MergeState) []*task.MergeEntry {
	var list []*task.MergeEntry
	for _, e := range m.Queue {
		if e.State == s {
			list = append(list, e)
		}
	}
	return list
}

// mergeGroups are the sections of the queue, in page order.
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

// mergeSince returns the time that the row of a merge shows.
func mergeSince(e *task.MergeEntry) task.Time {
	switch {
	case e.EndedAt != 0:
		return e.EndedAt
	case e.StartedAt != 0 && e.State == task.MergeRunning:
		return e.StartedAt
	}
	return e.CreatedAt
}
