package views

import "taskyard/task"

// ViewsModel is the page of a person's saved views.
type ViewsModel struct {
	Views []task.SavedView
	Of    task.ID // the view whose new name was refused, or 0
	Name  string  // that name
	Error string  // and why
}

func (m ViewsModel) problem(id task.ID) string {
	if id != m.Of {
		return ""
	}
	return m.Error
}

func (m ViewsModel) typed(v task.SavedView) string {
	if v.ID == m.Of {
		return m.Name
	}
	return v.Name
}

// Views is the page of saved views, and where a form keeps one.
func (urls) Views() string { return "/views" }

// ViewAct is where a form posts an act on a saved view: rename, delete.
func (u urls) ViewAct(id task.ID, act string) string {
	return u.Views() + "/" + id.String() + "/" + act
}

// Bulk is where acts on many tasks are confirmed and done.
func (urls) Bulk() string { return "/tasks/bulk" }

// TaskActFrom is the page that asks for more about an act, and leads back to
// where it was asked for.
func (u urls) TaskActFrom(id task.ID, act, back string) string {
	return query(u.TaskAct(id, act), "back", back)
}
