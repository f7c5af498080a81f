package views

import (
	"strconv"

	"taskyard/task"
)

// TaskView selects what a task's page shows below the plan. Zero fields select
// the newest entries of the whole stream.
type TaskView struct {
	Tab    string // transcript, runs, links, subtasks; "": the stream
	Show   string // comments, changes, runs; "": all
	Before string // entries of the stream before this mark
	Since  string // entries after this mark, for the live part
	After  task.ID
	Step   int // the step whose panel is open, from 1; 0: none
}

// TaskView is the page of a task with a tab and a filter.
func (u urls) TaskView(id task.ID, v TaskView) string {
	return query(u.Task(id), "tab", v.Tab, "show", v.Show, "before", v.Before, "since", v.Since,
		"after", idText(v.After), "step", numberOrNone(max(v.Step, 0)))
}

// ResourceAt is the target of forms that change a resource; index is 0-based.
func (u urls) ResourceAt(id task.ID, index int) string {
	return u.TaskAct(id, "resources") + "/" + strconv.Itoa(index)
}

// TaskRuns is the list of runs of one task.
func (u urls) TaskRuns(id task.ID) string { return u.Runs(RunQuery{Task: id}) }
