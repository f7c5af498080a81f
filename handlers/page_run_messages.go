package handlers

import (
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// sendRunMessage leads to what was said: by that scripts know that a draft has
// done its work.
func (s *Server) sendRunMessage(c echo.Context, id task.ID) error {
	m, err := s.svc.SendRunMessage(formContext(c), actorFrom(c), id, text(c, "text"))
	if err != nil {
		return withBack(c, err, backOr(c, views.URL.Run(id)))
	}
	return s.done(c, views.URL.Run(id)+"#said-"+m.ID.String(), "Sent")
}
