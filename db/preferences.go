package db

import "taskyard/task"

// Preferences returns the choices of a person.
func (rx *Rx) Preferences(user task.ID) (task.Preferences, error) {
	rows := rx.query("SELECT name, value FROM preferences WHERE user_id = ?", user)
	return collectMap(rows, func(r rowScanner) (name task.Preference, value string, err error) {
		return name, value, r.Scan(&name, &value)
	})
}

// SetPreference stores a choice; "" deletes it.
func (tx *Tx) SetPreference(user task.ID, p task.Preference, value string) error {
	if value == "" {
		return tx.do("DELETE FROM preferences WHERE user_id = ? AND name = ?", user, p)
	}
	return tx.do("INSERT INTO preferences (user_id, name, value) VALUES (?, ?, ?) "+
		"ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value", user, p, value)
}
