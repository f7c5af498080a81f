package db

import "taskyard/task"

// SetClosing notes when a running run ends that has closed its own task. The
// first time counts.
func (tx *Tx) SetClosing(id task.ID, at task.Time) error {
	return tx.do("UPDATE runs SET closing_at = ? WHERE id = ? AND status = 'running' AND closing_at IS NULL", at, id)
}

// ClosingDue returns running runs whose time to end has come.
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
