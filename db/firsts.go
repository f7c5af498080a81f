package db

import "taskyard/task"

// What happened first is looked for in so many events and runs.
const (
	firstEvents = 3000
	firstRuns   = 500
)

// Firsts returns what has happened for the first time, as far as the first
// events and runs tell.
func (rx *Rx) Firsts() (f task.Firsts, err error) {
	var tasks int
	err = rx.row(`SELECT coalesce((SELECT max(id) FROM tasks), 0), coalesce(max(kind IN ('task.claimed', 'run.started')), 0),
 coalesce(max(kind IN ('run.permission_allowed', 'run.permission_denied')), 0)
  OR EXISTS (SELECT 1 FROM runs WHERE id <= ? AND decision IN ('approved', 'denied')),
 coalesce(max(kind = 'task.answered'), 0) FROM events WHERE id <= ?`,
		firstRuns, firstEvents).Scan(&tasks, &f.Worked, &f.Decided, &f.Answered)
	f.New, f.Task = tasks <= task.NewTasks, tasks > 0
	return f, err
}
