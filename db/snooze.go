package db

import "taskyard/task"

// stillWaiting is whether what a snooze z hides still waits, for the same
// cause. ?1 is the number of failures at which a task is stuck.
const stillWaiting = `CASE z.kind
 WHEN 'question' THEN EXISTS (SELECT 1 FROM tasks t WHERE t.id = z.task_id AND t.question_id = z.ref)
 WHEN 'approval' THEN EXISTS (SELECT 1 FROM runs r WHERE r.id = z.ref AND r.status = 'pending' AND r.phase = 'approval')
 WHEN 'permission' THEN EXISTS (SELECT 1 FROM permissions p WHERE p.run_id = z.ref AND p.n = z.mark AND p.decision = '')
 WHEN 'review' THEN EXISTS (SELECT 1 FROM results s WHERE s.id = z.ref AND s.state = 'review')
 WHEN 'notice' THEN EXISTS (SELECT 1 FROM notices n WHERE n.message_id = z.ref)
 WHEN 'lost' THEN EXISTS (SELECT 1 FROM tasks t WHERE t.id = z.ref AND t.blockers_canceled = z.mark
 AND t.blockers_canceled > 0 AND t.archived_at IS NULL)
 ELSE EXISTS (SELECT 1 FROM tasks t WHERE t.id = z.ref AND t.failures > 0
 AND t.archived_at IS NULL AND t.failures >= ?1 AND t.status = 'active'
  AND t.run_id IS NULL AND t.claim_holder IS NULL AND coalesce(` + failedRun + `, 0) = z.mark) END`

// marks finds what waits, by kind: its task, its mark, and when it expires.
var marks = map[task.InboxKind]string{
	task.WaitQuestion: "SELECT t.id, 0, 0 FROM messages m JOIN tasks t ON t.id = m.task_id WHERE m.id = ?1 AND t.question_id = m.id",
	task.WaitApproval: "SELECT r.task_id, 0, r.approval_expires FROM runs r WHERE r.id = ?1 AND r.status = 'pending' AND r.phase = 'approval'",
	task.WaitReview:   "SELECT s.task_id, 0, 0 FROM results s WHERE s.id = ?1 AND s.state = 'review'",
	task.WaitPermission: "SELECT r.task_id, p.n, p.expires_at FROM permissions p " +
		"JOIN runs r ON r.id = p.run_id WHERE p.run_id = ?1 AND p.decision = ''",
	task.WaitStuck: "SELECT t.id, coalesce(" + failedRun + ", 0), 0 FROM tasks t WHERE t.id = ?1 AND t.failures > 0 " +
		"AND t.archived_at IS NULL AND t.failures >= ?2 AND t.status = 'active' AND t.run_id IS NULL AND t.claim_holder IS NULL",
	task.WaitLost:   "SELECT t.id, t.blockers_canceled, 0 FROM tasks t WHERE t.id = ?1 AND " + orphaned,
	task.WaitNotice: "SELECT n.task_id, 0, 0 FROM notices n WHERE n.message_id = ?1",
}

// Waits finds something that waits for a person now; false when nothing does.
// z gets its task and mark; expires is when it ends by itself, 0 for never.
func (rx *Rx) Waits(z *task.Snooze, attempts int) (expires task.Time, ok bool, err error) {
	args := []any{z.Ref}
	if z.Kind == task.WaitStuck {
		args = append(args, attempts)
	}
	ok, err = optional(rx.row(marks[z.Kind], args...).Scan(&z.TaskID, &z.Mark, &expires))
	return expires, ok, err
}

// SetSnooze hides something from a person until a moment.
func (tx *Tx) SetSnooze(user task.ID, z task.Snooze) error {
	return tx.do("INSERT INTO snoozes (user_id, kind, ref, mark, task_id, until) VALUES (?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (user_id, kind, ref) DO UPDATE SET mark = excluded.mark, task_id = excluded.task_id, until = excluded.until",
		user, z.Kind, z.Ref, z.Mark, z.TaskID, z.Until)
}

// Snooze returns what a person snoozed; false when it is not snoozed.
func (rx *Rx) Snooze(user task.ID, kind task.InboxKind, ref task.ID) (z task.Snooze, ok bool, err error) {
	return okIfRow(scanSnooze(rx.row("SELECT "+snoozeCols+" FROM snoozes z JOIN tasks t ON t.id = z.task_id "+
		"WHERE z.user_id = ? AND z.kind = ? AND z.ref = ?", user, kind, ref)))
}

// DeleteSnooze shows it to the person again.
func (tx *Tx) DeleteSnooze(user task.ID, kind task.InboxKind, ref task.ID) error {
	return tx.do("DELETE FROM snoozes WHERE user_id = ? AND kind = ? AND ref = ?", user, kind, ref)
}

const snoozeCols = "z.kind, z.ref, z.mark, z.task_id, t.title, t.owner, z.until"

func scanSnooze(s rowScanner) (z task.Snooze, err error) {
	return z, s.Scan(&z.Kind, &z.Ref, &z.Mark, &z.TaskID, &z.Title, &z.Owner, &z.Until)
}

// Snoozes returns what a person snoozed and what still waits, the first to
// come back first.
func (rx *Rx) Snoozes(user task.ID, attempts, limit int) ([]task.Snooze, error) {
	rows := rx.query("SELECT "+snoozeCols+" FROM snoozes z JOIN tasks t ON t.id = z.task_id "+
		"WHERE z.user_id = ?2 AND z.until > ?3 AND "+stillWaiting+" ORDER BY z.until, z.ref LIMIT ?4",
		attempts, user, rx.Now, limit)
	return collect(rows, scanSnooze)
}

// SnoozeCounts counts what a person snoozed and what still waits.
func (rx *Rx) SnoozeCounts(user task.ID, attempts int) (n task.InboxTotals, err error) {
	rows := rx.query("SELECT z.kind, count(*) FROM snoozes z WHERE z.user_id = ?2 AND z.until > ?3 AND "+
		stillWaiting+" GROUP BY z.kind", attempts, user, rx.Now)
	err = each(rows, func(r rowScanner) error {
		var kind task.InboxKind
		var c int
		if err := r.Scan(&kind, &c); err != nil {
			return err
		}
		*n.ByKind(kind) = c
		return nil
	})
	return n, err
}

// SnoozesDue reports whether the time of a snooze is over.
func (rx *Rx) SnoozesDue() (bool, error) {
	n, err := rx.count("SELECT count(*) FROM (SELECT 1 FROM snoozes WHERE until <= ? LIMIT 1)", rx.Now)
	return n > 0, err
}

// DropSnoozes ends the snoozes whose time is over, and returns their tasks.
func (tx *Tx) DropSnoozes() ([]task.ID, error) {
	list, err := collect(tx.query("SELECT DISTINCT task_id FROM snoozes WHERE until <= ?", tx.Now), column[task.ID])
	if err != nil || len(list) == 0 {
		return list, err
	}
	return list, tx.do("DELETE FROM snoozes WHERE until <= ?", tx.Now)
}
