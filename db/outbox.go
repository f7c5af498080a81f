package db

import (
	"time"

	"taskyard/task"
)

// QueueOutgoing queues a line for an external target, to be sent after the commit.
func (tx *Tx) QueueOutgoing(target string, o task.Outgoing) error {
	return tx.do("INSERT INTO outbox (target, kind, task_id, run_id, text, created_at, not_before) VALUES (?, ?, ?, ?, ?, ?, ?)",
		target, o.Kind, o.TaskID, o.RunID, o.Text, tx.Now, tx.Now)
}

// Outbox returns the lines that are due for a target, oldest first.
func (rx *Rx) Outbox(target string, limit int) ([]task.Outgoing, error) {
	rows := rx.query("SELECT id, kind, task_id, run_id, text, created_at, tries FROM outbox WHERE target = ? "+
		"AND not_before <= ? ORDER BY not_before, id LIMIT ?", target, rx.Now, limit)
	return collect(rows, func(r rowScanner) (o task.Outgoing, err error) {
		return o, r.Scan(&o.ID, &o.Kind, &o.TaskID, &o.RunID, &o.Text, &o.At, &o.Tries)
	})
}

// OutboxNext returns when the next line of a target is due, 0 if there is none.
func (rx *Rx) OutboxNext(target string) (at task.Time, err error) {
	err = rx.row("SELECT coalesce(min(not_before), 0) FROM outbox WHERE target = ?", target).Scan(&at)
	return at, err
}

// DeleteOutgoing deletes a line from the outbox.
func (tx *Tx) DeleteOutgoing(id task.ID) error { return tx.do("DELETE FROM outbox WHERE id = ?", id) }

// DelayOutgoing records a failed attempt; the next one is due after the given time.
func (tx *Tx) DelayOutgoing(id task.ID, after time.Duration) error {
	return tx.do("UPDATE outbox SET tries = tries + 1, not_before = ? WHERE id = ?", tx.Now.Add(after), id)
}

// OutboxTargets names the targets for which there are lines.
func (rx *Rx) OutboxTargets() ([]string, error) {
	return collect(rx.query("SELECT DISTINCT target FROM outbox"), column[string])
}

// ClearOutbox deletes all lines of a target from the outbox.
func (tx *Tx) ClearOutbox(target string) error {
	return tx.do("DELETE FROM outbox WHERE target = ?", target)
}
