package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"taskyard/static"
	"taskyard/task"
)

// routes names every route of the pages, with what it needs. The JSON
// operations stand in the api_*.go files, registered by newAPI's operations.
func (s *Server) routes() {
	s.echo.Use(s.apiGuard)
	s.api = s.newAPI()
	s.taskOperations()
	s.agentOperations()
	s.runOperations()
	s.eventOperations()
	s.peopleOperations()

	for _, r := range []struct {
		method, path string
		need         task.Perm
		h            echo.HandlerFunc
	}{
		{"GET", "/healthz", task.Everyone, s.healthz},
		{"GET", "/readyz", task.Everyone, s.readyz},
		{"GET", "/metrics", task.Everyone, s.measured}, // by token, or from this machine
		{"GET", "/api/openapi.json", task.Everyone, s.openapi},
		{"GET", "/static/*", task.Everyone, s.static},
		{"GET", "/login", task.Everyone, s.loginPage},
		{"POST", "/login", task.Everyone, s.login},
		{"GET", "/login/link", task.Everyone, s.loginLink},
		{"POST", "/login/link", task.Everyone, s.loginLink},
		{"GET", "/setup", task.Everyone, s.setupPage},
		{"POST", "/setup", task.Everyone, s.setup},
		{"POST", "/logout", task.SignedIn, s.logout},
		{"GET", "/live", task.Read, s.live},
	} {
		s.perms[r.method+" "+r.path] = r.need
		s.echo.Add(r.method, r.path, r.h)
	}
}

func (s *Server) healthz(c echo.Context) error {
	return c.String(http.StatusOK, "ok\n")
}

// static serves the embedded files; with their hash in the address they may
// be kept for ever.
func (s *Server) static(c echo.Context) error {
	name := c.Param("*")
	b, err := static.FS.ReadFile(name)
	if err != nil {
		return echo.ErrNotFound
	}
	if c.QueryParam("v") != "" {
		c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		c.Response().Header().Set("Cache-Control", "public, max-age=300")
	}
	return c.Blob(http.StatusOK, static.ContentType(name), b)
}
