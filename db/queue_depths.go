package db

import "taskyard/task"

// NoteDepths writes how long the queues are now, as those of this hour; the
// last to write in an hour wins. Agents without active tasks are left out.
func (tx *Tx) NoteDepths(list map[string]task.Depth) error {
	hour := startOfHour(tx.Now)
	if err := tx.do("DELETE FROM depth_hours WHERE hour = ?", hour); err != nil {
		return err
	}
	var all task.Depth
	for agent, d := range list {
		all.Add(d)
		if d == (task.Depth{}) {
			continue
		}
		if err := tx.noteDepth(hour, agent, d); err != nil {
			return err
		}
	}
	return tx.noteDepth(hour, "", all)
}

func (tx *Tx) noteDepth(hour int64, agent string, d task.Depth) error {
	return tx.do("INSERT INTO depth_hours (hour, agent, queued, working, waiting) VALUES (?, ?, ?, ?, ?)",
		hour, agent, d.Queued, d.Working, d.Waiting)
}

// Depths returns the length of an agent's queue, or of all queues for "", for
// each hour in which it was measured, in order.
func (rx *Rx) Depths(agent string, from, to task.Time) (map[task.Time]task.Depth, error) {
	rows := rx.query(`SELECT y.hour, coalesce(a.queued, 0), coalesce(a.working, 0), coalesce(a.waiting, 0)
 FROM depth_hours y LEFT JOIN depth_hours a ON a.hour = y.hour AND a.agent = ?1
 WHERE y.hour >= ?2 AND y.hour < ?3 AND y.agent = ''`, agent, from, to)
	return collectMap(rows, func(r rowScanner) (hour task.Time, d task.Depth, err error) {
		return hour, d, r.Scan(&hour, &d.Queued, &d.Working, &d.Waiting)
	})
}

// DropDepths forgets the lengths of queues before a moment.
func (tx *Tx) DropDepths(before task.Time) error {
	return tx.do("DELETE FROM depth_hours WHERE hour < ?", startOfHour(before))
}

// RunDuration is how long a run that completed took.
type RunDuration struct {
	Ended  task.Time
	Agent  string
	Millis int64
}

// RunDurations returns the durations of runs that completed in a period, newest
// first; "" means every agent or every project. Without a project, only the
// index is read.
func (rx *Rx) RunDurations(f task.StatFilter, limit int) ([]RunDuration, error) {
	const ended = `SELECT r.ended_at, r.agent, r.ended_at - r.started_at FROM runs r INDEXED BY runs_ended
 WHERE r.ended_at IS NOT NULL AND r.ended_at >= ?1 AND r.ended_at < ?2 AND r.status = 'completed' AND r.started_at IS NOT NULL
 AND (?3 = '' OR r.agent = ?3)`
	const newest = " ORDER BY r.ended_at DESC LIMIT ?4"
	q, args := ended+newest, []any{f.From, f.To, f.Agent, limit}
	if f.Project != "" {
		q = ended + " AND (SELECT project FROM tasks WHERE id = r.task_id) = ?5" + newest
		args = append(args, f.Project)
	}
	rows := rx.query(q, args...)
	return collect(rows, func(r rowScanner) (t RunDuration, err error) {
		return t, r.Scan(&t.Ended, &t.Agent, &t.Millis)
	})
}
