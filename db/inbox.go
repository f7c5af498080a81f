package db

import (
	"cmp"

	"taskyard/task"
)

// What waits for a person. Each condition is that of a partial index, which
// holds just these rows.
const (
	hasQuestion = "t.question_id IS NOT NULL"
	stuck       = "t.failures > 0 AND t.archived_at IS NULL AND t.failures >= ? " +
		"AND t.status = 'active' AND t.run_id IS NULL AND t.claim_holder IS NULL"
	orphaned  = "t.blockers_canceled > 0 AND t.archived_at IS NULL"
	inReview  = "s.state = 'review' AND s.id > 0"
	hasNotice = "n.message_id > 0"

	// failedRun is the run for whose sake a task is stuck.
	failedRun = "(SELECT id FROM runs WHERE task_id = t.id AND (status = 'failed' OR phase IN ('denied', 'expired')) ORDER BY id DESC LIMIT 1)"
)

// notSnoozed leaves out what a person snoozed: the arguments are the person, the
// moment and the kind, whose ref and mark are in the row.
func notSnoozed(ref, mark string) string {
	return " AND NOT EXISTS (SELECT 1 FROM snoozes z WHERE z.user_id = ? AND z.until > ? " +
		"AND z.kind = ? AND z.ref = " + ref + " AND z.mark = " + mark + ")"
}

// Inbox reads what waits for a person, without what they snoozed. A task is
// stuck at so many failures. CROSS JOIN begins with what waits, which is little,
// and never with all messages.
func (rx *Rx) Inbox(q task.InboxQuery, attempts int) (b task.Inbox, err error) {
	if b.Totals, err = rx.InboxTotals(q.User, attempts); err != nil {
		return b, err
	}
	for _, part := range []struct {
		kind task.InboxKind
		read func(task.InboxQuery, []any) error
	}{
		{task.WaitQuestion, func(q task.InboxQuery, z []any) error {
			b.Questions, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, m.id, 0, m.author, m.content, m.created_at
 FROM tasks t CROSS JOIN messages m ON m.id = t.question_id
 WHERE `+hasQuestion+" AND t.question_id > ?"+notSnoozed("t.question_id", "0")+" ORDER BY t.question_id LIMIT ?",
				args(q.After, z, q.Limit)...)
			return err
		}},
		{task.WaitApproval, func(q task.InboxQuery, z []any) error {
			b.Approvals, err = rx.runs("SELECT "+runBrief+` FROM runs r INDEXED BY runs_approval WHERE r.status = 'pending' AND r.phase = 'approval'
 AND (r.approval_expires, r.id) > (coalesce((SELECT approval_expires FROM runs
 WHERE id = ?1), 0), ?1)`+notSnoozed("r.id", "0")+" ORDER BY r.approval_expires, r.id LIMIT ?",
				args(q.After, z, q.Limit)...)
			return err
		}},
		{task.WaitPermission, func(q task.InboxQuery, z []any) error {
			b.Permissions, err = rx.runsAwaitingPermission(`p.decision = '' AND (p.expires_at, p.run_id) > (coalesce((SELECT max(expires_at)
 FROM permissions WHERE run_id = ?1), 0), ?1)`+notSnoozed("p.run_id", "p.n"), args(q.After, z, q.Limit)...)
			return err
		}},
		{task.WaitReview, func(q task.InboxQuery, z []any) error {
			rows := rx.query(`SELECT t.id, t.title, t.owner, s.id, s.number, s.author, s.summary, s.created_at
 FROM results s INDEXED BY results_review CROSS JOIN tasks t ON t.id = s.task_id
 WHERE `+inReview+" AND s.id > ?"+notSnoozed("s.id", "0")+" ORDER BY s.id LIMIT ?", args(q.After, z, q.Limit)...)
			b.Reviews, err = collect(rows, func(r rowScanner) (i task.InboxItem, err error) {
				return i, r.Scan(&i.TaskID, &i.Title, &i.Owner, &i.ResultID, &i.Number, &i.Author, &i.Text, &i.At)
			})
			return err
		}},
		{task.WaitStuck, func(q task.InboxQuery, z []any) error {
			b.Stuck, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, 0, coalesce(r.id, 0), '', coalesce(r.reason, ''), t.updated_at
 FROM tasks t INDEXED BY tasks_stuck LEFT JOIN runs r ON r.id = `+failedRun+" WHERE "+stuck+" AND t.id > ?"+
				notSnoozed("t.id", "coalesce(r.id, 0)")+" ORDER BY t.id LIMIT ?",
				args(attempts, q.After, z, q.Limit)...)
			return err
		}},
		{task.WaitLost, func(q task.InboxQuery, z []any) error {
			b.BlockerCanceled, err = rx.inboxItems("SELECT t.id, t.title, t.owner, 0, 0, '', '', t.updated_at "+
				"FROM tasks t INDEXED BY tasks_blocker_canceled WHERE "+
				orphaned+" AND t.id > ?"+notSnoozed("t.id", "t.blockers_canceled")+" ORDER BY t.id LIMIT ?",
				args(q.After, z, q.Limit)...)
			return err
		}},
		{task.WaitNotice, func(q task.InboxQuery, z []any) error {
			b.Notices, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, m.id, 0, m.author, m.content, m.created_at
 FROM notices n CROSS JOIN messages m ON m.id = n.message_id CROSS JOIN tasks t ON t.id = n.task_id
 WHERE `+hasNotice+" AND n.message_id < ?"+notSnoozed("n.message_id", "0")+" ORDER BY n.message_id DESC LIMIT ?",
				args(cmp.Or(q.After, noBound), z, q.Limit)...) // the newest first
			return err
		}},
	} {
		if q.Only != "" && q.Only != part.kind {
			continue
		}
		if err := part.read(q, []any{q.User, rx.Now, part.kind}); err != nil {
			return b, err
		}
	}
	return b, nil
}

// args joins arguments, and lists of them, to one list.
func args(parts ...any) []any {
	var list []any
	for _, p := range parts {
		if l, ok := p.([]any); ok {
			list = append(list, l...)
		} else {
			list = append(list, p)
		}
	}
	return list
}

func (rx *Rx) inboxItems(q string, args ...any) ([]task.InboxItem, error) {
	rows := rx.query(q, args...)
	return collect(rows, func(r rowScanner) (i task.InboxItem, err error) {
		return i, r.Scan(&i.TaskID, &i.Title, &i.Owner, &i.MessageID, &i.RunID, &i.Author, &i.Text, &i.At)
	})
}

// InboxTotals counts what waits for a person, without what they snoozed.
func (rx *Rx) InboxTotals(user task.ID, attempts int) (n task.InboxTotals, err error) {
	for _, c := range []struct {
		n    *int
		q    string
		args []any
	}{
		{&n.Questions, "SELECT count(*) FROM tasks t WHERE " + hasQuestion, nil},
		{&n.Reviews, "SELECT count(*) FROM results s INDEXED BY results_review WHERE " + inReview, nil},
		{&n.Stuck, "SELECT count(*) FROM tasks t INDEXED BY tasks_stuck WHERE " + stuck, []any{attempts}},
		{&n.BlockerCanceled, "SELECT count(*) FROM tasks t INDEXED BY tasks_blocker_canceled WHERE " + orphaned, nil},
		{&n.Notices, "SELECT count(*) FROM notices n WHERE " + hasNotice, nil},
	} {
		if *c.n, err = rx.count(c.q, c.args...); err != nil {
			return n, err
		}
	}
	if n.Approvals, err = rx.WaitingCount(); err != nil {
		return n, err
	}
	if n.Permissions, err = rx.AwaitingPermissionCount(); err != nil || user == 0 {
		return n, err
	}
	hidden, err := rx.SnoozeCounts(user, attempts)
	return n.Minus(hidden), err
}

// InsertNotice puts a message into the inbox until a person acknowledges it;
// false if it is there already.
func (tx *Tx) InsertNotice(message, taskID task.ID) (bool, error) {
	return tx.changedOne("INSERT INTO notices (message_id, task_id) VALUES (?, ?) ON CONFLICT DO NOTHING", message, taskID)
}

// DeleteStoppedNotices ends the notices of tasks that say that their run
// was stopped.
func (tx *Tx) DeleteStoppedNotices(ids ...task.ID) error {
	return tx.do("DELETE FROM notices INDEXED BY notices_task WHERE task_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND "+
		"EXISTS (SELECT 1 FROM messages m WHERE m.id = message_id AND m.type = 'stopped')", jsonIDs(ids))
}

// DeleteNotice reports whether the notice still waited.
func (tx *Tx) DeleteNotice(message task.ID) (bool, error) {
	return tx.changedOne("DELETE FROM notices WHERE message_id = ?", message)
}
