package handlers

import (
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// doneWith is done for an act that the next page offers to undo.
func (s *Server) doneWith(c echo.Context, to string, u *views.Undo, format string, args ...any) error {
	if !byScript(c) {
		s.flashMore(c, more{Undo: u})
	}
	return s.done(c, to, format, args...)
}
