package views

import "taskyard/task"

// RunsModel is the list of runs, newest first.
type RunsModel struct {
	Runs   []task.Run
	Filter task.RunFilter
	Agents []string // ids that the filter offers
	Next   task.ID  // the cursor of the next page, or 0
}

func (m *RunsModel) filtered() bool {
	return m.Filter.Status != "" || m.Filter.Agent != "" || m.Filter.TaskID != 0
}

// runStatuses are the choices of the status filter.
var runStatuses = []task.RunStatus{task.RunPending, task.RunRunning, task.RunCompleted, task.RunFailed, task.RunCanceled}
