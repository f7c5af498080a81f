package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
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
	return views.MovePage(ch, views.MoveModel{Task: t, Agents: agents}), err
}

func (s *Server) postMove(c echo.Context) error {
	t, err := s.taskParam(c)
	if err != nil {
		return err
	}
	m := views.MoveModel{Task: t, To: c.FormValue("to"), Comment: text(c, "comment")}
	if err = s.move(c, t, m); err == nil {
		return s.done(c, views.URL.Task(t.ID), "Moved #%d to %s", t.ID, m.To)
	}
	e, ok := refusal(err)
	if !ok {
		return err
	}
	m.Errors = renamed(views.ErrorsOf(e), "newAgent", "to")
	return s.again(c, e, views.URL.TaskAct(t.ID, "move"), func(ch views.Chrome) (p templ.Component, err error) {
		m.Agents, err = s.agentOptions(c)
		return views.MovePage(ch, m), err
	})
}

// move hands over by the verb that the form was made for, so that a repeat of
// the same form is the same request.
func (s *Server) move(c echo.Context, t *task.Task, m views.MoveModel) error {
	ctx, a, from := formContext(c), actorOf(c), c.FormValue("from")
	if from == "" {
		from = t.Owner
	}
	working := t.WorkStatus == task.Working
	if how := c.FormValue("how"); how != "" {
		working = how == string(task.Working)
	}
	if working {
		_, err := s.svc.MoveTask(ctx, a, service.Move{TaskID: t.ID, CurrentAgent: from, NewAgent: m.To, Comment: m.Comment})
		return err
	}
	_, err := s.svc.Reassign(ctx, a, from, []task.ID{t.ID}, m.To, m.Comment)
	return err
}

// maxCanceled is how many subtasks the page that asks before a cancel names.
const maxCanceled = 50

func (s *Server) cancelPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	below, err := s.svc.OpenBelow(c.Request().Context(), actorOf(c), t.ID)
	m := views.CancelModel{Task: t, Count: len(below), Subtasks: below[:min(len(below), maxCanceled)]}
	for _, k := range append(below, t) {
		if k.OpenRunID != 0 {
			m.OpenRuns++
		}
	}
	return views.CancelPage(ch, m), err
}

func (s *Server) postCancel(c echo.Context, id task.ID) (string, error) {
	out, err := s.svc.CancelTask(formContext(c), actorOf(c), id, text(c, "reason"))
	if n := len(out.Canceled); n > 1 {
		return sprintf("Canceled #%d and %s", id, views.Count(n-1, "subtask", "subtasks")), err
	}
	return sprintf("Canceled #%d", id), err
}

// problemsOf are the problems of a form, by field.
func problemsOf(err error) views.FieldErrors {
	e, _ := refusal(err)
	return views.ErrorsOf(e)
}
