package handlers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) editPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	agents, err := s.agentOptions(c)
	return views.EditPage(ch, views.NewEditModel(t, agents)), err
}

func (s *Server) editTask(c echo.Context, t *task.Task) error {
	if field := c.FormValue("field"); field != "" {
		return s.editField(c, t.ID, field)
	}
	m := views.EditModel{
		Task: t, Title: c.FormValue("title"), Description: text(c, "description"),
		Owner: c.FormValue("owner"), Priority: c.FormValue("priority"), Labels: c.FormValue("labels"),
		Project: c.FormValue("project"),
	}
	v, err := task.ParseID(c.FormValue("version"))
	if err != nil {
		v = task.ID(t.Version)
	}
	m.Version = int64(v)
	if m.Preview = c.FormValue("preview") != ""; m.Preview {
		return s.show(c, http.StatusOK, views.URL.TaskAct(t.ID, "edit"), func(ch views.Chrome) (_ templ.Component, err error) {
			m.Agents, err = s.agentOptions(c)
			return views.EditPage(ch, m), err
		})
	}
	prio, err := wholeNumber(c, "priority")
	saved := t
	if err == nil {
		p := task.Patch{Title: &m.Title, Description: &m.Description, Owner: &m.Owner, Priority: &prio, Version: m.Version}
		if tags := words(m.Labels); c.Request().Form.Has("labels") { // a page of an earlier version lacks the field
			p.Labels = &tags
		}
		if c.Request().Form.Has("project") {
			p.Project = &m.Project
		}
		saved, err = s.svc.UpdateTask(formContext(c), actorFrom(c), t.ID, p)
	}
	if err == nil {
		if t.Version == m.Version && saved.Version != t.Version {
			s.undoEdit(c, t.ID, "title", t.Title, "description", t.Description, "owner", t.Owner, "priority", strconv.Itoa(t.Priority),
				"labels", strings.Join(t.Labels, " "), "version", strconv.Itoa(int(saved.Version)))
		}
		return s.done(c, views.URL.Task(t.ID), "Saved #%d", t.ID)
	}
	return s.editAgain(c, m, err)
}

// editAgain keeps the typed text; after a change by someone else, it says
// whose, and the next attempt is based on the current version.
func (s *Server) editAgain(c echo.Context, m views.EditModel, err error) error {
	return s.again(c, err, views.URL.TaskAct(m.Task.ID, "edit"), func(ch views.Chrome, e *task.Error) (_ templ.Component, err error) {
		m.Errors = ui.FieldErrorsFrom(e)
		if m.Agents, err = s.agentOptions(c); err != nil {
			return nil, err
		}
		if e.Code == task.CodeStaleVersion {
			p, err := s.svc.TaskPage(c.Request().Context(), actorFrom(c), m.Task.ID, s.userZone(c))
			if err != nil {
				return nil, err
			}
			m.Task, m.Version, m.Changed, m.Errors = p.Task, p.Task.Version, changedBy(p), nil
		}
		return views.EditPage(ch, m), nil
	})
}

// editTries bounds the retries of a field change after changes of other fields.
const editTries = 5

// editField changes one field from the task's own page. Only a change of the
// same field by someone else is a conflict: agents tick steps all the time.
func (s *Server) editField(c echo.Context, id task.ID, field string) error {
	typed := views.TaskEntries{Field: field, Value: text(c, field), Errors: ui.FieldErrors{}}
	if typed.Preview = c.FormValue("preview") != ""; typed.Preview {
		return s.show(c, http.StatusOK, views.URL.Task(id), func(ch views.Chrome) (templ.Component, error) {
			m, err := s.taskTyped(c, id, typed)
			return views.TaskPage(ch, m), err
		})
	}
	p, err := fieldPatch(c, field)
	var before, after string
	if err == nil {
		before, after, err = s.patchSeen(c, id, field, c.FormValue("was"), p)
	}
	if err != nil {
		return s.taskAgain(c, id, err, typed)
	}
	if c.FormValue("undo") != "" {
		return s.done(c, views.URL.Task(id), "The %s of #%d is unchanged", field, id)
	}
	if before != after {
		s.undoEdit(c, id, "field", field, field, before, "was", task.Mark(after))
	}
	return s.done(c, views.URL.Task(id), "Saved the %s of #%d", field, id)
}

// undoLimit bounds the former text in the toast of an edit, in bytes.
const undoLimit = 16 << 10

// undoEdit offers to restore the former values of a task's fields.
func (s *Server) undoEdit(c echo.Context, id task.ID, pairs ...string) {
	if c.FormValue("undo") == "" && len(strings.Join(pairs, "")) <= undoLimit {
		undoable(c, views.URL.TaskAct(id, "edit"), pairs...)
	}
}

// fieldPatch parses the field that a form of the task's page changes.
func fieldPatch(c echo.Context, field string) (p task.Patch, err error) {
	v := c.FormValue(field)
	switch field {
	case "title":
		p.Title = &v
	case "description":
		v = text(c, field)
		p.Description = &v
	case "owner":
		p.Owner = &v
	case "priority":
		var n int
		n, err = wholeNumber(c, field)
		p.Priority = &n
	case "project":
		p.Project = &v
	case "labels":
		tags := words(v)
		p.Labels = &tags
	default:
		err = task.FieldErrorf("field", "must be title, description, owner, priority, project or labels")
	}
	return p, err
}

// fieldTexts returns the current text of a field, and that of a patch.
func fieldTexts(t *task.Task, field string, p task.Patch) (now, want string) {
	switch field {
	case "title":
		return t.Title, *p.Title
	case "description":
		return t.Description, *p.Description
	case "owner":
		return t.Owner, *p.Owner
	case "project":
		return t.Project, *p.Project
	case "priority":
		return strconv.Itoa(t.Priority), strconv.Itoa(*p.Priority)
	}
	sorted := slices.Sorted(slices.Values(*p.Labels))
	return strings.Join(t.Labels, " "), strings.Join(slices.Compact(sorted), " ")
}

// patchSeen changes one field that the reader saw with the mark was, and
// returns its text before and after. Changes of other fields in the meantime do
// not matter.
func (s *Server) patchSeen(c echo.Context, id task.ID, field, seen string, p task.Patch) (before, after string, err error) {
	ctx, a := formContext(c), actorFrom(c)
	for range editTries {
		page, e := s.svc.TaskPage(ctx, a, id, s.userZone(c))
		if e != nil {
			return "", "", e
		}
		before, after = fieldTexts(page.Task, field, p)
		if seen != "" && seen != task.Mark(before) && before != after {
			return "", "", task.Errorf(task.Conflict, task.CodeStaleVersion,
				"%s What you typed is still there; saving again replaces it.", views.FieldChangedBy(page.Events, field))
		}
		p.Version = page.Task.Version
		if _, err = s.svc.UpdateTask(ctx, a, id, p); !task.IsCode(err, task.CodeStaleVersion) {
			return before, after, err
		}
	}
	return before, after, err
}
