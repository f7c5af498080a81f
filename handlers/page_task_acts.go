package handlers

import (
	"fmt"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) runNow(c echo.Context, id task.ID) (string, error) {
	r, err := s.svc.RunNow(formContext(c), actorFrom(c), id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Run %d %s", r.ID, views.RunSentence(r)), nil
}

func (s *Server) startTask(c echo.Context, id task.ID) (string, error) {
	status := string(task.Active)
	_, err := s.svc.UpdateTask(formContext(c), actorFrom(c), id, task.Patch{Status: &status})
	return fmt.Sprintf("Started #%d", id), err
}

func (s *Server) completeTask(c echo.Context, id task.ID) (string, error) {
	s.extendDeadlines(c.Request().Context(), task.MaxWait) // checks may run
	tk, err := s.svc.CompleteTask(formContext(c), actorFrom(c), id, text(c, "summary"), 0)
	switch {
	case err != nil:
		return "", err
	case tk.WaitingFor == task.WaitsReview:
		return fmt.Sprintf("#%d waits for review", id), nil
	case tk.WaitingFor == task.WaitsMerge:
		return fmt.Sprintf("#%d waits for its merge", id), nil
	}
	return fmt.Sprintf("Completed #%d", id), nil
}

func (s *Server) releaseClaim(c echo.Context, id task.ID) (string, error) {
	_, err := s.svc.ReleaseClaim(formContext(c), actorFrom(c), id, 0)
	return "Released the claim", err
}

// comment redirects to the comment, which tells scripts to discard the draft.
func (s *Server) comment(c echo.Context, id task.ID) (string, error) {
	m, err := s.svc.Comment(formContext(c), actorFrom(c), id, text(c, "content"))
	c.Set("anchor", "#msg-"+m.ID.String())
	return "Commented", err
}

func commentEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Comment: text(c, "content"), Errors: ui.FieldErrors{}}
}

func (s *Server) reply(c echo.Context, id task.ID) (string, error) {
	var question task.ID // the question that the person has read
	if raw := c.FormValue("question"); raw != "" {
		var err error
		if question, err = task.ParseID(raw); err != nil {
			return "", err
		}
	}
	m, err := s.svc.ReplyTo(formContext(c), actorFrom(c), id, question, text(c, "content"))
	c.Set("anchor", "#msg-"+m.ID.String())
	return "Answered", err
}

func replyEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Reply: text(c, "content"), Errors: ui.FieldErrors{"reply": "content"}}
}
