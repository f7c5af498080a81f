package db

import "taskyard/task"

// Preferences returns the choices of a person.
func (rx *Rx) Preferences(user task.ID) (task.Preferences, error) {
	rows, err := rx.query("SELECT name, value FROM preferences WHERE user_id = ?", user)
	all := task.Preferences{}
	err = each(rows, err, func(r rowScanner) error {
		var name task.Preference
		var value string
		err := r.Scan(&name, &value)
		all[name] = value
		return err
	})
	return all, err
}

// SetPreference stores a choice; "" deletes it.
func (tx *Tx) SetPreference(user task.ID, p task.Preference, value string) error {
	if value == "" {
		return tx.do("DELETE FROM preferences WHERE user_id = ? AND name = ?", user, p)
	}
	return tx.do("INSERT INTO preferences (user_id, name, value) VALUES (?, ?, ?) "+
		"ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value", user, p, value)
}
