package handlers

import (
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// comment leads to what was said: by that scripts know that a draft has done
// its work.
func (s *Server) comment(c echo.Context, id task.ID) (string, error) {
	m, err := s.svc.Comment(formContext(c), actorFrom(c), id, text(c, "content"))
	c.Set("anchor", "#msg-"+m.ID.String())
	return "Commented", err
}

func commentEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Comment: text(c, "content"), Errors: ui.FieldErrors{}}
}

func (s *Server) reply(c echo.Context, id task.ID) (string, error) {
	var question task.ID // that the person has read
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
