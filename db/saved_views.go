package db

import "taskyard/task"

const savedViewCols = "id, name, path, created_at"

func scanSavedView(r rowScanner) (v task.SavedView, err error) {
	return v, r.Scan(&v.ID, &v.Name, &v.Path, &v.CreatedAt)
}

// SavedViews returns the views of a person by name.
func (rx *Rx) SavedViews(user task.ID) ([]task.SavedView, error) {
	rows := rx.query("SELECT "+savedViewCols+" FROM saved_views WHERE user_id = ? ORDER BY name COLLATE NOCASE", user)
	return collect(rows, scanSavedView)
}

// SavedView returns one view of a person; ok is false when it is not theirs.
func (rx *Rx) SavedView(user, id task.ID) (v task.SavedView, ok bool, err error) {
	return okIfRow(scanSavedView(rx.row("SELECT "+savedViewCols+" FROM saved_views WHERE id = ? AND user_id = ?", id, user)))
}

// SavedViewNamed reports whether a person has a view with a name, other than
// but. The database decides whether two names are equal: PostgreSQL ignores the
// case of more letters.
func (rx *Rx) SavedViewNamed(user task.ID, name string, but task.ID) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM saved_views WHERE user_id = ? AND name = ? COLLATE NOCASE AND id <> ?", user, name, but)
	return n > 0, err
}

// InsertSavedView stores a view and returns its id.
func (tx *Tx) InsertSavedView(user task.ID, name, path string) (task.ID, error) {
	return tx.insert("INSERT INTO saved_views (user_id, name, path, created_at) VALUES (?, ?, ?, ?)", user, name, path, tx.Now)
}

// RenameSavedView renames a view.
func (tx *Tx) RenameSavedView(id task.ID, name string) error {
	return tx.do("UPDATE saved_views SET name = ? WHERE id = ?", name, id)
}

// DeleteSavedView forgets a view.
func (tx *Tx) DeleteSavedView(id task.ID) error {
	return tx.do("DELETE FROM saved_views WHERE id = ?", id)
}
