package handlers

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/internal/buildinfo"
	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) profilePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m, err := s.profile(c)
	return views.ProfilePage(ch, m), err
}

func (s *Server) profile(c echo.Context) (views.ProfileModel, error) {
	a := actorFrom(c)
	list, err := s.userSessions(c)
	return views.ProfileModel{User: task.User{ID: a.UserID, Name: strings.TrimPrefix(a.Name, "user:"), Role: a.Role}, Sessions: list}, err
}

// setKeys turns single-key shortcuts on or off for the person.
func (s *Server) setKeys(c echo.Context) error {
	if err := s.svc.SetPreference(formContext(c), actorFrom(c), task.PrefKeys, c.FormValue("keys")); err != nil {
		return err
	}
	return s.done(c, views.URL.Settings("appearance"), "Saved the keyboard shortcuts")
}

func (s *Server) changePassword(c echo.Context) error {
	err := s.svc.ChangePassword(formContext(c), actorFrom(c), c.FormValue("current"), c.FormValue("password"), s.sessionHash(c))
	if err == nil {
		return s.done(c, views.URL.Settings(""), "Changed the password; your other sessions have ended")
	}
	return s.again(c, err, views.URL.Settings(""), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m, err := s.profile(c)
		m.Errors = renamed(ui.FieldErrorsFrom(e), "old", "current")
		return views.ProfilePage(ch, m), err
	})
}

// sessionHash returns the key under which the browser's session is stored.
func (s *Server) sessionHash(c echo.Context) string {
	token := s.sessions.Token(c.Request().Context())
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Server) signOutEverywhere(c echo.Context) error {
	if err := s.svc.SignOutEverywhere(c.Request().Context(), actorFrom(c)); err != nil {
		return err
	}
	return s.signedOut(c)
}

// endSession signs out another browser of the caller, or this one.
func (s *Server) endSession(c echo.Context) error {
	hash := c.FormValue("session")
	if hash == s.sessionHash(c) {
		return s.logout(c)
	}
	if err := s.svc.SignOut(c.Request().Context(), actorFrom(c), hash); err != nil {
		return err
	}
	return s.done(c, views.URL.Settings(""), "Signed out that browser")
}

// aboutBuild lists facts about the build.
func aboutBuild(b buildinfo.Info) []views.Fact {
	var list []views.Fact
	for _, f := range []views.Fact{
		{Name: "Version", Text: b.Version},
		{Name: "Commit", Text: b.Commit},
		{Name: "Date", Text: b.Date},
		{Name: "Go", Text: b.Go},
		{Name: "SQLite", Text: b.SQLite},
	} {
		if f.Text != "" {
			list = append(list, f)
		}
	}
	return list
}

func (s *Server) aboutPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ab, err := s.svc.About(c.Request().Context())
	if err != nil {
		return nil, err
	}
	servers, err := s.svc.Servers(c.Request().Context())
	m := views.AboutModel{
		Build: aboutBuild(s.opt.Build), Schema: int(ab.SchemaVersion), Engine: ab.Engine.Name,
		DBBytes: ab.Engine.Bytes, StartedAt: task.TimeFromStd(s.started),
		Counts: []views.Tally{
			{Name: "Tasks", N: ab.Counts.Tasks},
			{Name: "In history", N: ab.Counts.Archived},
			{Name: "Runs", N: ab.Counts.Runs},
			{Name: "Events", N: ab.Counts.Events},
		},
		OpenIndexed: service.Indexing(ab.Open), HistoryIndexed: service.Indexing(ab.History), Servers: servers,
	}
	if ch.CanAdmin {
		m.DataFolder = s.opt.DataDir
	}
	return views.AboutPage(ch, m), err
}
