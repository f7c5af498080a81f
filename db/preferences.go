package db

import "taskyard/task"

// Preferences returns what a person chose for themselves.
func (rx *Rx) Preferences(user task.ID) (task.Preferences, error) {
	type pair struct {
		name  task.Preference
		value string
	}
	rows, err := rx.query("SELECT name, value FROM preferences WHERE user_id = ?", user)
	list, err := collect(rows, err, func(r rowScanner) (p pair, err error) { return p, r.Scan(&p.name, &p.value) })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	all := make(task.Preferences, len(list))
	for _, p := range list {
		all[p.name] = p.value
	}
	return all, nil
}

// SetPreference keeps a choice; "" forgets it.
func (tx *Tx) SetPreference(user task.ID, p task.Preference, value string) error {
	if value == "" {
		return tx.do("DELETE FROM preferences WHERE user_id = ? AND name = ?", user, p)
	}
	return tx.do("INSERT INTO preferences (user_id, name, value) VALUES (?, ?, ?) "+
		"ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value", user, p, value)
}
