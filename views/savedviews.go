package views

import "taskyard/task"

// ViewsModel is the page of a person's saved views.
type ViewsModel struct {
	Views []task.SavedView
	Of    task.ID // the view that could not be renamed, or 0
	Name  string  // the rejected name
	Error string  // the reason
}

// NewView is the name of a view that could not be saved.
type NewView struct {
	Name    string // as typed
	Problem string // the reason
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

// Views is the page of saved views, and the target of the form that saves one.
func (urls) Views() string { return "/views" }

// ViewAct is the target of forms for a saved view: rename, delete.
func (u urls) ViewAct(id task.ID, act string) string {
	return u.Views() + "/" + id.String() + "/" + act
}

// Bulk is the confirmation page of bulk actions, and the target of its form.
func (urls) Bulk() string { return "/tasks/bulk" }

// TaskActFrom is the page that asks for details of an action, and returns to
// the page that linked to it.
func (u urls) TaskActFrom(id task.ID, act, back string) string {
	return query(u.TaskAct(id, act), "back", back)
}
