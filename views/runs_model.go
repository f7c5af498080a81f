package views

import "taskyard/task"

// RunsModel is the list of runs, newest first.
type RunsModel struct {
	Runs   []task.Run
	Query  RunQuery // the filter of this page
	Agents []string // IDs that the filter offers
	Next   task.ID  // cursor of the next page, or 0
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

// chips lists the active criteria.
func (q RunQuery) chips() (list []historyChip) {
	q.Before = 0
	add := func(text string, drop func(*RunQuery)) {
		without := q
		if drop(&without); without != q {
			list = append(list, historyChip{text, URL.Runs(without)})
		}
	}
	add(q.Status, func(q *RunQuery) { q.Status = "" })
	add(q.Agent, func(q *RunQuery) { q.Agent = "" })
	add("#"+q.Task.String(), func(q *RunQuery) { q.Task = 0 })
	add(choiceLabel(sinceChoices, q.Since), func(q *RunQuery) { q.Since = "" })
	add("ended from "+q.From, func(q *RunQuery) { q.From = "" })
	add("ended to "+q.To, func(q *RunQuery) { q.To = "" })
	return list
}
