package db

import "taskyard/task"

// InsertPause notes a pause; its time is set here.
func (tx *Tx) InsertPause(p task.Pause) error {
	return tx.do("INSERT INTO pauses (agent, actor, reason, since) VALUES (?, ?, ?, ?)", p.Agent, p.By, p.Reason, tx.Now)
}

// DeletePause ends the pause of an agent, or of the instance with "".
func (tx *Tx) DeletePause(agent string) error {
	return tx.do("DELETE FROM pauses WHERE agent = ?", agent)
}

// Pauses returns all pauses, the instance's first.
func (rx *Rx) Pauses() (task.Pauses, error) {
	rows, err := rx.query("SELECT agent, actor, reason, since FROM pauses ORDER BY agent")
	return collect(rows, err, func(r rowScanner) (p task.Pause, err error) {
		return p, r.Scan(&p.Agent, &p.By, &p.Reason, &p.Since)
	})
}
