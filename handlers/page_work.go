package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// diff answers what a run changed as plain text, which every browser shows.
func (s *Server) diff(c echo.Context, id task.ID) error {
	w, err := s.svc.Work(c.Request().Context(), actorFrom(c), id, true)
	if err != nil {
		return err
	}
	text := ""
	if w != nil {
		text = w.Patch()
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
