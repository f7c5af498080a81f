package db

import "taskyard/task"

const runMessageCols = "id, run_id, author, text, created_at, coalesce(delivered_at, 0)"

func scanRunMessage(r rowScanner) (m task.RunMessage, err error) {
	return m, r.Scan(&m.ID, &m.RunID, &m.Author, &m.Text, &m.CreatedAt, &m.DeliveredAt)
}

// InsertRunMessage queues a message for a run.
func (tx *Tx) InsertRunMessage(run task.ID, author, text string) (task.ID, error) {
	return tx.insert("INSERT INTO run_messages (run_id, author, text, created_at) VALUES (?, ?, ?, ?)", run, author, text, tx.Now)
}

// RunMessages returns the messages to a run, oldest first.
func (rx *Rx) RunMessages(run task.ID) ([]task.RunMessage, error) {
	return collect(rx.query("SELECT "+runMessageCols+" FROM run_messages WHERE run_id = ? ORDER BY id", run), scanRunMessage)
}

// RunMessage returns a message to a run, or nil.
func (rx *Rx) RunMessage(run, id task.ID) (*task.RunMessage, error) {
	m, err := scanRunMessage(rx.row("SELECT "+runMessageCols+" FROM run_messages WHERE id = ? AND run_id = ?", id, run))
	if ok, err := optional(err); !ok {
		return nil, err
	}
	return &m, nil
}

// RunMessageCount returns how many messages a run was sent.
func (rx *Rx) RunMessageCount(run task.ID) (int, error) {
	return rx.count("SELECT count(*) FROM run_messages WHERE run_id = ?", run)
}

// DeliverRunMessage records that the agent got a queued message.
func (tx *Tx) DeliverRunMessage(id task.ID) error {
	return tx.do("UPDATE run_messages SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL", tx.Now, id)
}

// RequeueRunMessages queues the messages of a run again, whose agent starts
// over.
func (tx *Tx) RequeueRunMessages(run task.ID) error {
	return tx.do("UPDATE run_messages SET delivered_at = NULL WHERE run_id = ?", run)
}
