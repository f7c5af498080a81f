package db

import (
	"cmp"

	"taskyard/task"
)

var runStatuses = map[task.RunStatus]string{
	task.RunPending:   "r.status = 'pending'",
	task.RunRunning:   "r.status = 'running'",
	task.RunCompleted: "r.status = 'completed'",
	task.RunFailed:    "r.status = 'failed'",
	task.RunCanceled:  "r.status = 'canceled'",
}

// Runs returns runs, newest first.
func (rx *Rx) Runs(f task.RunFilter) ([]*task.Run, error) {
	w := &where{}
	w.add("r.id < ?", cmp.Or(f.Before, noBound))
	if f.TaskID != 0 {
		w.add("r.task_id = ?", f.TaskID)
	}
	if f.Agent != "" {
		w.add("r.agent = ?", f.Agent)
	}
	if is, known := runStatuses[f.Status]; known && rx.c.postgres() { // for an argument it would expect as many runs of each
		w.add(is)
	} else if f.Status != "" {
		w.add("r.status = ?", f.Status)
	}
	if f.Phase != "" {
		w.add("r.phase = ?", f.Phase)
	}
	if f.From != 0 || f.To != 0 {
		return rx.runsEnded(f, w)
	}
	return rx.runsWithin("SELECT "+runCols+" FROM runs r"+w.sql()+" ORDER BY r.id DESC LIMIT ?", append(w.args, f.Limit)...)
}

// runsEnded is Runs of those that ended within a time: it sorts what ended
// then, and looks up only what it returns.
func (rx *Rx) runsEnded(f task.RunFilter, w *where) ([]*task.Run, error) {
	w.add("r.ended_at >= ? AND r.ended_at < ?", f.From, cmp.Or(f.To, noBound))
	return rx.runsWithin("SELECT "+runCols+" FROM (SELECT r.id AS ended FROM runs r INDEXED BY runs_ended"+w.sql()+
		" ORDER BY 1 DESC LIMIT ?) CROSS JOIN runs r ON r.id = ended ORDER BY ended DESC", append(w.args, f.Limit)...)
}

// Waiting returns the runs that wait for a reviewer, the first to expire first.
func (rx *Rx) Waiting(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_approval WHERE r.status = 'pending' AND r.phase = 'approval' "+
		"AND r.held_until IS NULL ORDER BY r.approval_expires, r.id LIMIT ?", limit)
}

// WaitingCount returns how many runs wait for a reviewer.
func (rx *Rx) WaitingCount() (int, error) {
	return rx.count("SELECT count(*) FROM runs INDEXED BY runs_approval WHERE status = 'pending' " +
		"AND phase = 'approval' AND held_until IS NULL")
}

// ExpiredApprovals returns runs whose approval nobody gave in time.
func (rx *Rx) ExpiredApprovals(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_approval WHERE r.status = 'pending' AND r.phase = 'approval' "+
		"AND r.held_until IS NULL AND r.approval_expires <= ? ORDER BY r.approval_expires LIMIT ?", rx.Now, limit)
}

// Running returns all running runs.
func (rx *Rx) Running() ([]*task.Run, error) {
	return rx.runs("SELECT " + runCols + " FROM runs r WHERE r.status = 'running' ORDER BY r.id")
}

// FirstRunning returns the running runs that began first, without their specs,
// and how many run.
func (rx *Rx) FirstRunning(limit int) (list []*task.Run, count int, err error) {
	if list, err = rx.runs("SELECT "+runBrief+" FROM runs r WHERE r.status = 'running' ORDER BY r.id LIMIT ?", limit); err != nil {
		return nil, 0, err
	}
	count, err = rx.count("SELECT count(*) FROM runs INDEXED BY runs_running WHERE status = 'running'")
	return list, count, err
}

// RunningCounts returns how many runs each agent has running, and how many of
// all were started by a tick.
func (rx *Rx) RunningCounts() (byAgent map[string]int, total, ticked int, err error) {
	byAgent = map[string]int{}
	err = each(rx.query("SELECT agent, cause FROM runs WHERE status = 'running'"), func(r rowScanner) error {
		var agent string
		var cause task.Cause
		err := r.Scan(&agent, &cause)
		byAgent[agent]++
		total++
		if cause == task.CauseTick {
			ticked++
		}
		return err
	})
	return byAgent, total, ticked, err
}

// NextQueued returns the agent's first queued run that may start now on a server,
// "" for any, or nil. noTick leaves runs made by a tick aside.
func (rx *Rx) NextQueued(agent, server string, noTick bool) (*task.Run, error) {
	return nilIfNoRow(scanRun(rx.row("SELECT "+runCols+` FROM runs r INDEXED BY runs_queued WHERE r.status = 'pending'
 AND r.phase = 'queued' AND r.agent = ? AND r.not_before <= ?
 AND (?3 = '' OR r.server IN ('', ?3)) AND (NOT ? OR r.cause <> 'tick') ORDER BY r.id LIMIT 1`, agent, rx.Now, server, noTick)))
}

// RunsAhead counts the runs of its agent that a queued run waits for: those that
// run, and those queued before it.
func (rx *Rx) RunsAhead(r *task.Run) (int, error) {
	return rx.count(`SELECT (SELECT count(*) FROM runs WHERE status = 'running' AND agent = ?1)
 + (SELECT count(*) FROM runs WHERE status = 'pending' AND phase = 'queued' AND agent = ?1 AND id < ?2)`, r.Agent, r.ID)
}

// QueuedRuns returns queued runs in order.
func (rx *Rx) QueuedRuns(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_queued WHERE r.status = 'pending' "+
		"AND r.phase = 'queued' ORDER BY r.agent, r.id LIMIT ?", limit)
}

// QueuedAgents returns the agents that have queued runs, and the earliest
// future time at which a queued run may start, 0 if there is none.
func (rx *Rx) QueuedAgents() (agents []string, first task.Time, err error) {
	rows := rx.query("SELECT agent, coalesce(min(CASE WHEN not_before > ? THEN not_before END), 0) "+
		"FROM runs INDEXED BY runs_queued WHERE status = 'pending' AND phase = 'queued' GROUP BY agent", rx.Now)
	err = each(rows, func(r rowScanner) error {
		var agent string
		var at task.Time
		err := r.Scan(&agent, &at)
		agents = append(agents, agent)
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
		return err
	})
	return agents, first, err
}

// WakesSince counts the runs of a task that a wake made since a moment.
func (rx *Rx) WakesSince(taskID task.ID, since task.Time) (int, error) {
	return rx.count("SELECT count(*) FROM runs WHERE task_id = ? AND created_at > ? AND created_at <= ? AND cause IN ('wake', 'follow_up')",
		taskID, since, rx.Now)
}

// AskedSince counts the runs of a task that were requested since a given time,
// and returns when the oldest of them was created.
func (rx *Rx) AskedSince(taskID task.ID, by string, since task.Time) (n int, oldest task.Time, err error) {
	err = rx.row("SELECT count(*), coalesce(min(created_at), 0) FROM runs WHERE task_id = ? AND created_at > ? "+
		"AND created_at <= ? AND cause IN ('manual', 'retry') AND asked_by = ?", taskID, since, rx.Now, by).Scan(&n, &oldest)
	return n, oldest, err
}

// LeaseLost returns running runs whose lease has expired.
func (rx *Rx) LeaseLost() ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r WHERE r.status = 'running' AND r.lease_expires <= ? ORDER BY r.id", rx.Now)
}

// LastRuns returns the newest ended runs of an agent, without their prompts.
func (rx *Rx) LastRuns(agent string, limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runBrief+" FROM runs r INDEXED BY runs_agent WHERE r.agent = ? "+
		"AND r.ended_at IS NOT NULL ORDER BY r.id DESC LIMIT ?", agent, limit)
}

// LastEnd returns when the newest ended run of an agent ended, or 0.
func (rx *Rx) LastEnd(agent string) (at task.Time, err error) {
	_, err = optional(rx.row("SELECT ended_at FROM runs INDEXED BY runs_agent WHERE agent = ? "+
		"AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 1", agent).Scan(&at))
	return at, err
}

// SetClosing records when a running run ends that has closed its own task. The
// first time counts.
func (tx *Tx) SetClosing(id task.ID, at task.Time) error {
	return tx.do("UPDATE runs SET closing_at = ? WHERE id = ? AND status = 'running' AND closing_at IS NULL", at, id)
}

// ClosingDue returns running runs that are due to end.
func (rx *Rx) ClosingDue(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_closing WHERE r.status = 'running' "+
		"AND r.closing_at <= ? ORDER BY r.closing_at LIMIT ?", rx.Now, limit)
}

// FirstClosing returns when the next such run ends, or 0.
func (rx *Rx) FirstClosing() (at task.Time, err error) {
	err = rx.row("SELECT coalesce(min(closing_at), 0) FROM runs INDEXED BY runs_closing " +
		"WHERE status = 'running' AND closing_at IS NOT NULL").Scan(&at)
	return at, err
}

// RunActivity is the last message or tool call of a running run.
type RunActivity struct {
	Task task.ID
	Text string // its first 200 characters
}

// RunActivities returns the activity of each running run; runs that have said nothing
// yet are left out.
func (rx *Rx) RunActivities() ([]RunActivity, error) {
	rows := rx.query(`SELECT task_id, said FROM (SELECT r.task_id, (SELECT substr(m.content, 1, 200) FROM messages m
 WHERE m.run_id = r.id AND m.type IN ('tool_call', 'text') ORDER BY m.id DESC LIMIT 1) AS said
 FROM runs r INDEXED BY runs_running WHERE r.status = 'running') WHERE said <> ''`)
	return collect(rows, func(r rowScanner) (d RunActivity, err error) { return d, r.Scan(&d.Task, &d.Text) })
}
