package handlers

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// permissionParam parses which permission of a run a form refers to, counted
// from 1.
func permissionParam(c echo.Context, run task.ID) (int, error) {
	n, err := strconv.ParseInt(c.Param("n"), 10, 32)
	if err != nil || n < 1 {
		return 0, task.Errorf(task.NotFound, task.CodeNotFound, "Run %d has not asked for this permission", run)
	}
	return int(n), nil
}

func (s *Server) allowPermission(c echo.Context, id task.ID) error {
	n, err := permissionParam(c, id)
	if err != nil {
		return err
	}
	next, err := s.nextWaiting(c, id)
	if err != nil {
		return err
	}
	r, err := s.svc.AllowPermission(formContext(c), actorFrom(c), id, n, task.Scope(c.FormValue("scope")))
	if err != nil {
		return s.decideAgain(c, id, err, views.DecideForm{Attempted: "permission"})
	}
	if r.Permission.Scope == task.ScopeRun {
		return s.done(c, next, "Run %d may call %s until it ends", id, r.Permission.Tool)
	}
	return s.done(c, next, "Run %d may make this call of %s", id, r.Permission.Tool)
}

func (s *Server) denyPermission(c echo.Context, id task.ID) error {
	n, err := permissionParam(c, id)
	if err != nil {
		return err
	}
	form := views.DecideForm{Reason: text(c, "reason"), Attempted: "refusal"}
	next, err := s.nextWaiting(c, id)
	if err != nil {
		return err
	}
	r, err := s.svc.DenyPermission(formContext(c), actorFrom(c), id, n, form.Reason)
	if err != nil {
		return s.decideAgain(c, id, err, form)
	}
	return s.done(c, next, "The call of %s by run %d was denied", r.Permission.Tool, id)
}
