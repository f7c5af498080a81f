package db

import "taskyard/task"

// Doing is what a running run last said or called.
type Doing struct {
	Task task.ID
	Text string // its first 200 characters
}

// Doing returns what each running run does now; runs that have said nothing
// yet are left out.
func (rx *Rx) Doing() ([]Doing, error) {
	rows, err := rx.query(`SELECT task_id, said FROM (SELECT r.task_id, (SELECT substr(m.content, 1, 200) FROM messages m
 WHERE m.run_id = r.id AND m.type IN ('tool_call', 'text') ORDER BY m.id DESC LIMIT 1) AS said
 FROM runs r WHERE r.status = 'running') WHERE said <> ''`)
	return collect(rows, err, func(r rowScanner) (d Doing, err error) { return d, r.Scan(&d.Task, &d.Text) })
}
