package db

import "taskyard/task"

// InsertPause stores a pause that starts now.
func (tx *Tx) InsertPause(p task.Pause) error {
	return tx.do("INSERT INTO pauses (agent, actor, reason, since) VALUES (?, ?, ?, ?)", p.Agent, p.By, p.Reason, tx.Now)
}

// DeletePause ends the pause of an agent, or of the instance with "".
func (tx *Tx) DeletePause(agent string) error {
	return tx.do("DELETE FROM pauses WHERE agent = ?", agent)
}

// Pauses returns all pauses, the instance's first.
func (rx *Rx) Pauses() (list task.Pauses, err error) {
	if checked := rx.c.checked; checked != nil {
		if checked.pausesRead {
			return checked.pauses, nil
		}
		defer func() {
			if err == nil {
				checked.pauses, checked.pausesRead = list, true
			}
		}()
	}
	rows := rx.query("SELECT agent, actor, reason, since, stopped FROM pauses ORDER BY agent")
	return collect(rows, func(r rowScanner) (p task.Pause, err error) {
		var stopped string
		if err := r.Scan(&p.Agent, &p.By, &p.Reason, &p.Since, &stopped); err != nil {
			return p, err
		}
		p.StoppedRuns, err = idList(stopped)
		p.Stopped = len(p.StoppedRuns)
		return p, err
	})
}

// SetStopped records which runs were stopped when the instance was paused.
func (tx *Tx) SetStopped(runs []task.ID) error {
	return tx.do("UPDATE pauses SET stopped = ? WHERE agent = ''", task.JoinIDs(runs, ","))
}
