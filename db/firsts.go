package db

import "taskyard/task"

// What happened first is looked for in so many events and runs.
const (
	firstEvents = 3000
	firstRuns   = 500
)

// Milestones returns what has happened for the first time, as far as the first
// events and runs tell. On an instance that is no longer new it looks at them
// only where old is set.
func (rx *Rx) Milestones(old bool) (f task.Milestones, err error) {
	tasks, err := rx.count("SELECT coalesce((SELECT max(id) FROM tasks), 0)")
	f.New, f.Task = tasks <= task.NewTasks, tasks > 0
	if err != nil || !f.New && !old {
		return f, err
	}
	err = rx.row(`SELECT count(*) FILTER (WHERE kind IN ('task.claimed', 'run.started')) > 0,
 count(*) FILTER (WHERE kind IN ('run.permission_allowed', 'run.permission_denied')) > 0
  OR EXISTS (SELECT 1 FROM runs WHERE id <= ? AND decision IN ('approved', 'denied')),
 count(*) FILTER (WHERE kind = 'task.answered') > 0 FROM events WHERE id <= ?`,
		firstRuns, firstEvents).Scan(&f.Worked, &f.Decided, &f.Answered)
	return f, err
}
