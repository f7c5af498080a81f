package views

import "taskyard/task"

// RunsModel is the list of runs, newest first.
type RunsModel struct {
	Runs   []task.Run
	Query  RunQuery // the filter of this page
	Agents []string // ids that the filter offers
	Next   task.ID  // the cursor of the next page, or 0
}

func (m *RunsModel) filtered() bool {
	q := m.Query
	q.Before = 0
	return q != RunQuery{}
}

// runStatuses are the choices of the status filter.
var runStatuses = []task.RunStatus{task.RunPending, task.RunRunning, task.RunCompleted, task.RunFailed, task.RunCanceled}

// older returns the link to the next page, or "".
func (m *RunsModel) older() string {
	if m.Next == 0 {
		return ""
	}
	q := m.Query
	q.Before = m.Next
	return URL.Runs(q)
}
