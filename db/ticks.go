package db

import (
	"time"

	"taskyard/task"
)

// BeginTick records the start of a round.
func (tx *Tx) BeginTick(cause string) (task.ID, error) {
	return tx.insert("INSERT INTO ticks (at, cause) VALUES (?, ?)", tx.Now, cause)
}

// EndTick records the end of a round and drops receipts of earlier ones.
func (tx *Tx) EndTick(id task.ID, queued, skipped int) error {
	if err := tx.do("UPDATE ticks SET queued = ?, skipped = ?, ended = ? WHERE id = ?", queued, skipped, tx.Now, id); err != nil {
		return err
	}
	if err := tx.do("DELETE FROM ticks WHERE id <= ?", id-1000); err != nil {
		return err
	}
	return tx.do("DELETE FROM skips WHERE tick_id < ?", id)
}

// TickTask is an active task as a round of the scheduler looks at it.
type TickTask struct {
	task.Task      // with what decides whether it may run, and no more
	Judged    bool // agents contributed to it, or something bounds or grants its runs
}

const tickCols = `t.id, t.owner, t.status, t.priority, t.created_at, t.project, coalesce(t.claim_holder, ''), coalesce(t.claim_expires, 0),
 coalesce(t.question_id, 0), coalesce(t.run_id, 0), coalesce((SELECT phase FROM runs r WHERE r.id = t.run_id), ''),
 t.failures, t.blocked, t.awaits, coalesce(t.grant_hash, '') <> '' OR EXISTS (SELECT 1 FROM hands WHERE task_id = t.id)
 OR EXISTS (SELECT 1 FROM task_bounds WHERE task_id = t.id)`

// TickTasks returns active tasks in queue order, and the cursor of the next page.
func (rx *Rx) TickTasks(limit int, after string) ([]TickTask, string, error) {
	w, err := rx.openWhere(task.TaskFilter{Status: task.Active})
	if err != nil {
		return nil, "", err
	}
	from, args, err := queueOrder(w, after, limit)
	if err != nil {
		return nil, "", err
	}
	rows := rx.query("SELECT "+tickCols+from, args...)
	list, err := collect(rows, func(r rowScanner) (t TickTask, err error) {
		var c task.Claim
		err = r.Scan(&t.ID, &t.Owner, &t.Status, &t.Priority, &t.CreatedAt, &t.Project, &c.Holder, &c.ExpiresAt,
			&t.QuestionID, &t.OpenRunID, &t.OpenRunPhase, &t.Failures, &t.Blocked, &t.Awaits, &t.Judged)
		if c.Holder != "" {
			t.Claim = &c
		}
		t.Derive(rx.Now)
		return t, err
	})
	if err != nil || len(list) < limit {
		return list, "", err
	}
	return list, taskCursor(&list[limit-1].Task), nil
}

// AddSkip leaves a receipt for a task.
func (tx *Tx) AddSkip(tick, taskID task.ID, reason, detail string) error {
	return tx.do("INSERT INTO skips (task_id, tick_id, reason, detail) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT (task_id) DO UPDATE SET tick_id = excluded.tick_id, reason = excluded.reason, detail = excluded.detail",
		taskID, tick, reason, detail)
}

// Ticks returns the newest rounds.
func (rx *Rx) Ticks(limit int) ([]task.Tick, error) {
	rows := rx.query("SELECT id, at, cause, queued, skipped, coalesce(ended, 0) FROM ticks ORDER BY id DESC LIMIT ?", limit)
	return collect(rows, func(r rowScanner) (t task.Tick, err error) {
		return t, r.Scan(&t.ID, &t.At, &t.Cause, &t.Queued, &t.Skipped, &t.Ended)
	})
}

// Skips returns receipts of the last round.
func (rx *Rx) Skips(limit int) ([]task.SkippedTask, error) {
	rows := rx.query(`SELECT s.task_id, t.title, t.owner, s.reason, s.detail FROM skips s JOIN tasks t ON t.id = s.task_id
 WHERE s.tick_id = (SELECT max(tick_id) FROM skips) AND t.archived_at IS NULL ORDER BY s.task_id LIMIT ?`, limit)
	return collect(rows, func(r rowScanner) (s task.SkippedTask, err error) {
		return s, r.Scan(&s.TaskID, &s.Title, &s.Owner, &s.Reason, &s.Detail)
	})
}

// NoteJob records that a job ran.
func (tx *Tx) NoteJob(name string, took time.Duration, failure string) error {
	return tx.do(`INSERT INTO jobs (name, last_at, took_ms, error, runs) VALUES (?1, ?2, ?3, ?4, 1)
 ON CONFLICT (name) DO UPDATE SET last_at = ?2, took_ms = ?3, error = ?4, runs = jobs.runs + 1`, name, tx.Now, took.Milliseconds(), failure)
}

// Jobs returns the records of all jobs by name, without what the clock knows.
func (rx *Rx) Jobs() (map[string]task.JobInfo, error) {
	rows := rx.query("SELECT name, coalesce(last_at, 0), took_ms, error, runs FROM jobs ORDER BY name")
	return collectMap(rows, func(r rowScanner) (name string, j task.JobInfo, err error) {
		var ms int64
		err = r.Scan(&j.Name, &j.LastAt, &ms, &j.Failure, &j.Runs)
		j.Took = time.Duration(ms) * time.Millisecond
		return j.Name, j, err
	})
}
