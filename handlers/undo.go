package handlers

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"taskyard/views"
)

const keyUndo = "undo"

// doneWith is done for an act that the next page offers to take back.
func (s *Server) doneWith(c echo.Context, to string, u *views.Undo, format string, args ...any) error {
	b, err := json.Marshal(u)
	if err != nil {
		return err
	}
	if ctx := c.Request().Context(); c.Request().Header.Get("HX-Request") == "" && s.sessions.GetInt64(ctx, keyUser) != 0 {
		s.sessions.Put(ctx, keyUndo, string(b))
	}
	return s.done(c, to, format, args...)
}

// takeUndo returns the act that this page offers to take back, or nil.
func (s *Server) takeUndo(c echo.Context) *views.Undo {
	ctx := c.Request().Context()
	if !s.sessions.Exists(ctx, keyUndo) {
		return nil
	}
	var u views.Undo
	if json.Unmarshal([]byte(s.sessions.PopString(ctx, keyUndo)), &u) != nil || u.Action == "" {
		return nil
	}
	return &u
}
