package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// taskForm is a page below a task that holds one form.
func (s *Server) taskForm(show func(echo.Context, views.Chrome, *task.Task) (templ.Component, error)) echo.HandlerFunc {
	return s.page(func(c echo.Context, ch views.Chrome) (templ.Component, error) {
		t, err := s.taskParam(c)
		if err != nil {
			return nil, err
		}
		return show(c, ch, t)
	})
}

func (s *Server) taskParam(c echo.Context) (*task.Task, error) {
	id, err := idParam(c, "id")
	if err != nil {
		return nil, err
	}
	return s.svc.Task(c.Request().Context(), actorOf(c), id)
}

func (s *Server) movePage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	agents, err := s.agentOptions(c)
	return views.MovePage(ch, views.MoveModel{Task: t, To: c.QueryParam("to"), Agents: agents}), err
}

func (s *Server) cancelPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	below, err := s.below(c, t)
	m := views.CancelModel{Task: t, Subtasks: below}
	for _, k := range append(below, t) {
		if k.OpenRunID != 0 {
			m.OpenRuns++
		}
	}
	return views.CancelPage(ch, m), err
}

// below lists the open tasks below a task, at any depth.
func (s *Server) below(c echo.Context, t *task.Task) ([]*task.Task, error) {
	all := []*task.Task{t}
	for i := 0; i < len(all); i++ {
		p, err := s.svc.OpenTasks(c.Request().Context(), actorOf(c), task.TaskFilter{Parent: all[i].ID, Limit: task.MaxSteps})
		if err != nil {
			return nil, err
		}
		all = append(all, p.Tasks...)
	}
	return all[1:], nil
}

func (s *Server) postCancel(c echo.Context, id task.ID) (string, error) {
	out, err := s.svc.CancelTask(formContext(c), actorOf(c), id, text(c, "reason"))
	if n := len(out.Canceled); n > 1 {
		return sprintf("Canceled #%d and %s", id, views.Count(n-1, "subtask", "subtasks")), err
	}
	return sprintf("Canceled #%d", id), err
}

func (s *Server) editPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	agents, err := s.agentOptions(c)
	return views.EditPage(ch, views.EditOf(t, agents)), err
}

func (s *Server) editTask(c echo.Context) error {
	t, err := s.taskParam(c)
	if err != nil {
		return err
	}
	m := views.EditModel{Task: t, Title: c.FormValue("title"), Description: text(c, "description"), Owner: c.FormValue("owner"), Priority: c.FormValue("priority"), Labels: c.FormValue("labels")}
	v, err := task.ParseID(c.FormValue("version"))
	if err != nil {
		v = task.ID(t.Version)
	}
	m.Version = int64(v)
	prio, err := wholeNumber(c, "priority")
	if err == nil {
		p := task.Patch{Title: &m.Title, Description: &m.Description, Owner: &m.Owner, Priority: &prio, Version: m.Version}
		if tags := words(m.Labels); c.Request().Form.Has("labels") { // an older page has no such field
			p.Labels = &tags
		}
		_, err = s.svc.UpdateTask(formContext(c), actorOf(c), t.ID, p)
	}
	if err == nil {
		return s.done(c, views.URL.Task(t.ID), "Saved #%d", t.ID)
	}
	return s.editAgain(c, m, err)
}

// editAgain keeps what was typed; after a change by somebody else it says
// whose, and the next attempt is made on the present version.
func (s *Server) editAgain(c echo.Context, m views.EditModel, err error) error {
	e, ok := refusal(err)
	if !ok {
		return err
	}
	m.Errors = views.ErrorsOf(e)
	return s.again(c, e, views.URL.TaskAct(m.Task.ID, "edit"), func(ch views.Chrome) (_ templ.Component, err error) {
		if m.Agents, err = s.agentOptions(c); err != nil {
			return nil, err
		}
		if e.Code == task.CodeStaleVersion {
			p, err := s.svc.TaskPage(c.Request().Context(), actorOf(c), m.Task.ID)
			if err != nil {
				return nil, err
			}
			m.Task, m.Version, m.Changed, m.Errors = p.Task, p.Task.Version, changedBy(p), nil
		}
		return views.EditPage(ch, m), nil
	})
}

// problemsOf are the problems of a form, by field.
func problemsOf(err error) views.FieldErrors {
	e, _ := refusal(err)
	return views.ErrorsOf(e)
}
