package db

import "taskyard/task"

// What waits for a person. Each condition is that of a partial index, which
// holds just these rows.
const (
	asked    = "t.question_id IS NOT NULL"
	stuck    = "t.failures > 0 AND t.archived_at IS NULL AND t.failures >= ? AND t.status = 'active' AND t.run_id IS NULL AND t.claim_holder IS NULL"
	orphaned = "t.blockers_canceled > 0 AND t.archived_at IS NULL"
	told     = "n.message_id > 0"
)

// Inbox reads what waits for a person, at most task.MaxInbox of each kind.
// A task is stuck at so many failures.
func (rx *Rx) Inbox(attempts int) (b task.Inbox, err error) {
	if b.Totals, err = rx.InboxTotals(attempts); err != nil {
		return b, err
	}
	if b.Questions, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, m.id, 0, m.author, m.content, m.created_at
 FROM tasks t JOIN messages m ON m.id = t.question_id WHERE `+asked+" ORDER BY t.question_id LIMIT ?", task.MaxInbox); err != nil {
		return b, err
	}
	if b.Approvals, err = rx.Waiting(task.MaxInbox); err != nil {
		return b, err
	}
	if b.Permissions, err = rx.Asking(task.MaxInbox); err != nil {
		return b, err
	}
	if b.Stuck, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, 0, coalesce(r.id, 0), '', coalesce(r.reason, ''), t.updated_at
 FROM tasks t LEFT JOIN runs r ON r.id = (SELECT id FROM runs WHERE task_id = t.id AND (status = 'failed' OR phase IN ('denied', 'expired')) ORDER BY id DESC LIMIT 1)
 WHERE `+stuck+" ORDER BY t.id LIMIT ?", attempts, task.MaxInbox); err != nil {
		return b, err
	}
	if b.BlockerCanceled, err = rx.inboxItems("SELECT t.id, t.title, t.owner, 0, 0, '', '', t.updated_at FROM tasks t WHERE "+orphaned+" ORDER BY t.id LIMIT ?", task.MaxInbox); err != nil {
		return b, err
	}
	b.Notices, err = rx.inboxItems(`SELECT t.id, t.title, t.owner, m.id, 0, m.author, m.content, m.created_at
 FROM notices n JOIN messages m ON m.id = n.message_id JOIN tasks t ON t.id = n.task_id WHERE `+told+" ORDER BY n.message_id DESC LIMIT ?", task.MaxInbox)
	return b, err
}

func (rx *Rx) inboxItems(q string, args ...any) ([]task.InboxItem, error) {
	rows, err := rx.query(q, args...)
	return collect(rows, err, func(r rowScanner) (i task.InboxItem, err error) {
		return i, r.Scan(&i.TaskID, &i.Title, &i.Owner, &i.MessageID, &i.RunID, &i.Author, &i.Text, &i.At)
	})
}

// InboxTotals counts what waits for a person.
func (rx *Rx) InboxTotals(attempts int) (n task.InboxTotals, err error) {
	for _, c := range []struct {
		n    *int
		q    string
		args []any
	}{
		{&n.Questions, "SELECT count(*) FROM tasks t WHERE " + asked, nil},
		{&n.Stuck, "SELECT count(*) FROM tasks t WHERE " + stuck, []any{attempts}},
		{&n.BlockerCanceled, "SELECT count(*) FROM tasks t WHERE " + orphaned, nil},
		{&n.Notices, "SELECT count(*) FROM notices n WHERE " + told, nil},
	} {
		if *c.n, err = rx.count(c.q, c.args...); err != nil {
			return n, err
		}
	}
	if n.Approvals, err = rx.WaitingCount(); err != nil {
		return n, err
	}
	n.Permissions, err = rx.AskingCount()
	return n, err
}

// InsertNotice has a message wait until a person acknowledges it.
func (tx *Tx) InsertNotice(message, taskID task.ID) error {
	return tx.do("INSERT INTO notices (message_id, task_id) VALUES (?, ?)", message, taskID)
}

// DeleteNotice tells whether the notice still waited.
func (tx *Tx) DeleteNotice(message task.ID) (bool, error) {
	n, err := tx.changed("DELETE FROM notices WHERE message_id = ?", message)
	return n == 1, err
}
