package db

import "taskyard/task"

// WokenSince returns the tasks that wakes made runs of since a moment, those
// with the most of them first.
func (rx *Rx) WokenSince(since task.Time, limit int) ([]task.WokenTask, error) {
	rows := rx.query(`SELECT r.task_id, t.title, t.owner, count(*) AS n, max(r.created_at) AS at
 FROM runs r INDEXED BY runs_woken JOIN tasks t ON t.id = r.task_id
 WHERE r.cause IN ('wake', 'follow_up') AND r.created_at > ? GROUP BY r.task_id, t.title, t.owner
 ORDER BY n DESC, at DESC LIMIT ?`, since, limit)
	return collect(rows, func(r rowScanner) (w task.WokenTask, err error) {
		return w, r.Scan(&w.TaskID, &w.Title, &w.Owner, &w.Wakes, &w.LastAt)
	})
}

// ClaimedTasks returns the claimed tasks, the first to run out first.
func (rx *Rx) ClaimedTasks(limit int) ([]task.ClaimedTask, error) {
	rows := rx.query(`SELECT t.id, t.title, t.owner, t.claim_holder, t.claim_seq, t.claim_since, t.claim_expires,
 coalesce((SELECT r.id FROM runs r WHERE r.id = t.run_id AND r.status = 'running'), 0)
 FROM tasks t INDEXED BY tasks_lease WHERE t.claim_expires IS NOT NULL ORDER BY t.claim_expires LIMIT ?`, limit)
	return collect(rows, func(r rowScanner) (h task.ClaimedTask, err error) {
		c := &h.Claim
		return h, r.Scan(&h.TaskID, &h.Title, &h.Owner, &c.Holder, &c.ID, &c.Since, &c.ExpiresAt, &h.Running)
	})
}

// AgentTotals sums the ended runs of each agent since a moment, by status.
func (rx *Rx) AgentTotals(since task.Time) ([]RunTotals, error) {
	rows := rx.query(`SELECT agent, substr(what, 5), sum(n), sum(millis), sum(tokens_in + tokens_out), sum(cost_usd)
 FROM stats_hours WHERE hour >= ? AND what IN ('run.completed', 'run.failed', 'run.canceled') GROUP BY agent, what`, startOfHour(since))
	return collect(rows, func(r rowScanner) (t RunTotals, err error) {
		return t, r.Scan(&t.Agent, &t.Status, &t.Runs, &t.Millis, &t.Tokens, &t.Cost)
	})
}
