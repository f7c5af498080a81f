package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) loginPage(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if actorFrom(c).Role != task.RoleNone {
		return c.Redirect(http.StatusSeeOther, next)
	}
	return s.render(c, http.StatusOK, views.LoginPage(s.bareChrome(c), views.LoginModel{Next: next}))
}

func (s *Server) login(c echo.Context) error {
	name, next := c.FormValue("name"), localPath(c.FormValue("next"))
	u, err := s.svc.SignIn(c.Request().Context(), name, c.FormValue("password"), caller(c))
	if e, ok := knownError(err); ok && (e.Kind == task.Unauthorized || e.Kind == task.TooMany) {
		setRetry(c, e.Retry)
		m := views.LoginModel{Name: name, Next: next, Error: e.Message}
		return s.render(c, statuses[e.Kind], views.LoginPage(s.bareChrome(c), m))
	}
	if err != nil {
		return err
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, next)
}

// loginLink signs in with a one-time link. A GET only shows a button, so that a
// link preview does not use it up.
func (s *Server) loginLink(c echo.Context) error {
	if c.Request().Method == http.MethodGet {
		return s.render(c, http.StatusOK, views.LinkPage(s.bareChrome(c), c.QueryParam("token")))
	}
	u, err := s.svc.UseSignInLink(c.Request().Context(), c.FormValue("token"), caller(c))
	if err != nil {
		return err
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

func (s *Server) logout(c echo.Context) error {
	if a := actorFrom(c); a.UserID != 0 {
		err := s.svc.SignOut(c.Request().Context(), a, s.sessionHash(c))
		if kind := errorKind(err); err != nil && kind != task.NotFound && kind != task.Unauthorized { // the session has already ended
			return err
		}
	}
	return s.signedOut(c)
}

// signedOut deletes the session's cookie and the instance's data in the
// browser.
func (s *Server) signedOut(c echo.Context) error {
	c.Response().Header().Set("Clear-Site-Data", `"storage"`)
	if err := s.sessions.Destroy(c.Request().Context()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.URL.Login(""))
}

func (s *Server) setupPage(c echo.Context) error {
	token := c.QueryParam("token")
	if err := s.svc.SetupValid(c.Request().Context(), token); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.SetupPage(s.bareChrome(c), views.SetupModel{Token: token}))
}

func (s *Server) setup(c echo.Context) error {
	m := views.SetupModel{Token: c.FormValue("token"), Name: c.FormValue("name")}
	again := func(e *task.Error) error {
		m.Errors = ui.FieldErrorsFrom(e)
		return s.render(c, http.StatusUnprocessableEntity, views.SetupPage(s.bareChrome(c), m))
	}
	if c.FormValue("password") != c.FormValue("password2") {
		return again(task.FieldErrorf("password2", "is not the same as the first"))
	}
	u, err := s.svc.FirstAdmin(c.Request().Context(), m.Token, m.Name, c.FormValue("password"))
	if e, ok := knownError(err); ok && e.Kind == task.Invalid {
		return again(e)
	}
	if err != nil {
		return err
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}
