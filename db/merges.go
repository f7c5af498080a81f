package db

import (
	"cmp"

	"taskyard/task"
)

const mergeCols = `m.id, m.task_id, t.title, m.result_id, s.number, m.project, m.repository, m.target, m.state, m.code, m.reason,
 m.head_before, m.head_after, m.created_at, coalesce(m.started_at, 0), coalesce(m.ended_at, 0)`

const fromMerges = " FROM merges m CROSS JOIN tasks t ON t.id = m.task_id CROSS JOIN results s ON s.id = m.result_id "

func scanMerge(r rowScanner) (*task.MergeEntry, error) {
	m := &task.MergeEntry{}
	return m, r.Scan(&m.ID, &m.TaskID, &m.TaskTitle, &m.ResultID, &m.Number, &m.Project, &m.Repository, &m.Into, &m.State, &m.Code,
		&m.Reason, &m.Before, &m.After, &m.CreatedAt, &m.StartedAt, &m.EndedAt)
}

func (rx *Rx) merges(q string, args ...any) ([]*task.MergeEntry, error) {
	return collect(rx.query("SELECT "+mergeCols+fromMerges+q, args...), scanMerge)
}

// OpenMerges returns the merges that have not ended, in the order of the queue.
func (rx *Rx) OpenMerges() ([]*task.MergeEntry, error) {
	return rx.merges("WHERE m.ended_at IS NULL ORDER BY m.id")
}

// WaitingMerges returns the merges that something of their repository is in the
// way of, the oldest first.
func (rx *Rx) WaitingMerges(limit int) ([]*task.MergeEntry, error) {
	return rx.merges("WHERE m.ended_at IS NULL AND m.state = 'waiting' ORDER BY m.id LIMIT ?", limit)
}

// DueMerges returns the open merges that may be tried now, in the order of the
// queue: only the first of each target.
func (rx *Rx) DueMerges() ([]*task.MergeEntry, error) {
	return rx.merges(`WHERE m.ended_at IS NULL AND m.not_before <= ? AND NOT EXISTS (SELECT 1 FROM merges o
 WHERE o.ended_at IS NULL AND o.id < m.id AND o.repository = m.repository AND o.target = m.target) ORDER BY m.id`, rx.Now)
}

// NextMergeAt returns when a merge may be tried again, 0 when none waits.
func (rx *Rx) NextMergeAt() (task.Time, error) {
	n, err := rx.count("SELECT coalesce(min(not_before), 0) FROM merges WHERE ended_at IS NULL AND not_before > ?", rx.Now)
	return task.Time(n), err
}

// EndedMerges returns a page of the merges of a project, "" for all, that have
// ended, the newest first.
func (rx *Rx) EndedMerges(project string, before task.ID, limit int) ([]*task.MergeEntry, error) {
	before = cmp.Or(before, noBound)
	if project == "" {
		return rx.merges("WHERE m.ended_at IS NOT NULL AND m.id < ? ORDER BY m.id DESC LIMIT ?", before, limit)
	}
	return rx.merges("WHERE m.ended_at IS NOT NULL AND m.project = ? AND m.id < ? ORDER BY m.id DESC LIMIT ?", project, before, limit)
}

// OpenMerge returns the merge of a task that has not ended, or nil.
func (rx *Rx) OpenMerge(id task.ID) (*task.MergeEntry, error) {
	return first(rx.merges("WHERE m.task_id = ? AND m.ended_at IS NULL", id))
}

// maxSamePatch is how often the same patch of a task is merged in vain, as commits
// of other names, on one vote.
const maxSamePatch = 5

// FailedToMerge reports whether a result of a task with this commit could not be
// merged, or several with this patch.
func (rx *Rx) FailedToMerge(id task.ID, head, patch string) (bool, error) {
	const failed = `SELECT count(*) FROM merges m CROSS JOIN results f ON f.id = m.result_id
 WHERE m.task_id = ? AND m.state = 'failed' AND `
	same, err := rx.count(failed+"f.head = ?", id, head)
	if err != nil || same > 0 {
		return same > 0, err
	}
	n, err := rx.count(failed+"f.patch = ?", id, patch)
	return n >= maxSamePatch, err
}

// MergedSubtaskSince reports whether a subtask of a task was merged into a branch after a
// moment, or may be right now.
func (rx *Rx) MergedSubtaskSince(id task.ID, branch string, since task.Time) (bool, error) {
	n, err := rx.count(`SELECT count(*) FROM tasks t CROSS JOIN merges m ON m.task_id = t.id WHERE t.parent_id = ? AND m.target = ?
 AND (m.state = 'merged' AND m.ended_at > ? OR m.ended_at IS NULL AND m.head_after <> '')`, id, branch, since)
	return n > 0, err
}

// InsertMerge puts a result into the queue and returns the id of the entry.
func (tx *Tx) InsertMerge(m *task.MergeEntry) (task.ID, error) {
	return tx.insert(`INSERT INTO merges (task_id, result_id, project, repository, target, state, created_at)
 VALUES (?, ?, ?, ?, ?, 'queued', ?)`, m.TaskID, m.ResultID, m.Project, m.Repository, m.Into, tx.Now)
}

// StartMerge records that a merge is being made.
func (tx *Tx) StartMerge(id task.ID) error {
	return tx.do(`UPDATE merges SET state = 'running', started_at = ?, head_before = '', head_after = ''
 WHERE id = ? AND ended_at IS NULL`, tx.Now, id)
}

// SetMergeHeads records between which commits the target of a merge moves, and
// reports whether the merge is still open.
func (tx *Tx) SetMergeHeads(id task.ID, before, after string) (bool, error) {
	return tx.changedOne("UPDATE merges SET head_before = ?, head_after = ? WHERE id = ? AND ended_at IS NULL", before, after, id)
}

// RequeueMerge schedules another attempt of a merge, with the reason for the
// delay.
func (tx *Tx) RequeueMerge(id task.ID, state task.MergeState, reason string, at task.Time) error {
	return tx.do(`UPDATE merges SET state = ?, reason = ?, not_before = ?
 WHERE id = ? AND ended_at IS NULL`, state, reason, at, id)
}

// EndMerge writes the end of a merge.
func (tx *Tx) EndMerge(id task.ID, state task.MergeState, code, reason string) error {
	return tx.do("UPDATE merges SET state = ?, code = ?, reason = ?, ended_at = ? WHERE id = ? AND ended_at IS NULL",
		state, code, reason, tx.Now, id)
}

// MergedBranches returns the merged tasks of a project whose branches are still
// there and ended before a moment, the oldest first.
func (rx *Rx) MergedBranches(project string, before task.Time, limit int) ([]*task.MergeEntry, error) {
	return rx.merges("WHERE m.state = 'merged' AND m.branch_gone = 0 AND m.ended_at < ? AND m.project = ? ORDER BY m.ended_at LIMIT ?",
		before, project, limit)
}

// SetBranchDeleted records that the branch of a merged task was deleted.
func (tx *Tx) SetBranchDeleted(id task.ID) error {
	return tx.do("UPDATE merges SET branch_gone = 1 WHERE id = ?", id)
}
