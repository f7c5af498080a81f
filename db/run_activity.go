package db

import "taskyard/task"

// RunActivity is the last message or tool call of a running run.
type RunActivity struct {
	Task task.ID
	Text string // its first 200 characters
}

// RunActivities returns the activity of each running run; runs that have said nothing
// yet are left out.
func (rx *Rx) RunActivities() ([]RunActivity, error) {
	rows, err := rx.query(`SELECT task_id, said FROM (SELECT r.task_id, (SELECT substr(m.content, 1, 200) FROM messages m
 WHERE m.run_id = r.id AND m.type IN ('tool_call', 'text') ORDER BY m.id DESC LIMIT 1) AS said
 FROM runs r INDEXED BY runs_running WHERE r.status = 'running') WHERE said <> ''`)
	return collect(rows, err, func(r rowScanner) (d RunActivity, err error) { return d, r.Scan(&d.Task, &d.Text) })
}
