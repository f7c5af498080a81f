package handlers

import (
	"fmt"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// taskForm returns the handler of a page below a task that contains one form.
func (s *Server) taskForm(show func(echo.Context, views.Chrome, *task.Task) (templ.Component, error)) echo.HandlerFunc {
	return s.pageWithID(func(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
		t, err := s.svc.Task(c.Request().Context(), actorFrom(c), id)
		if err != nil {
			return nil, err
		}
		return show(c, ch, t)
	})
}

// withTask returns the handler of a form of the task whose ID is in the path.
func (s *Server) withTask(fn func(echo.Context, *task.Task) error) echo.HandlerFunc {
	return withID(func(c echo.Context, id task.ID) error {
		t, err := s.svc.Task(c.Request().Context(), actorFrom(c), id)
		if err != nil {
			return err
		}
		return fn(c, t)
	})
}

func (s *Server) movePage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	agents, err := s.agentOptions(c)
	return views.MovePage(ch, views.MoveModel{Task: t, To: c.QueryParam("to"), Agents: agents}), err
}

// maxCanceled is how many subtasks the confirmation of a cancel lists.
const maxCanceled = 50

func (s *Server) cancelPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	below, err := s.svc.OpenBelow(c.Request().Context(), actorFrom(c), t.ID)
	m := views.CancelModel{Task: t, Count: len(below), Subtasks: below[:min(len(below), maxCanceled)]}
	for _, tk := range append(below, t) {
		if tk.OpenRunID != 0 {
			m.OpenRuns++
		}
	}
	return views.CancelPage(ch, m), err
}

func (s *Server) postCancel(c echo.Context, id task.ID) (string, error) {
	out, err := s.svc.CancelTask(formContext(c), actorFrom(c), id, text(c, "reason"))
	if n := len(out.Canceled); n > 1 {
		return fmt.Sprintf("Canceled #%d and %s", id, ui.Count(n-1, "subtask", "subtasks")), err
	}
	return fmt.Sprintf("Canceled #%d", id), err
}

// fieldErrors returns the errors of a form, by field.
func fieldErrors(err error) ui.FieldErrors {
	e, _ := refusal(err)
	return ui.FieldErrorsFrom(e)
}
