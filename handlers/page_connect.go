package handlers

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

func (s *Server) connectPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	return s.connect(c, ch, views.ConnectModel{})
}

func (s *Server) connect(c echo.Context, ch views.Chrome, m views.ConnectModel) (templ.Component, error) {
	var err error
	if m.Agent, err = s.svc.Agent(actorFrom(c), c.Param("id")); err != nil {
		return nil, err
	}
	all, err := s.svc.Tokens(c.Request().Context(), actorFrom(c))
	for _, t := range all {
		if t.Agent == m.Agent.ID {
			m.Tokens = append(m.Tokens, t)
		}
	}
	return views.ConnectPage(ch, m), err
}

// connectAgent creates a token for the agent; the secret is shown only in this
// answer.
func (s *Server) connectAgent(c echo.Context) error {
	f := views.TokenForm{Name: c.FormValue("name"), Days: c.FormValue("days")}
	page := views.URL.AgentAct(c.Param("id"), "connect")
	if _, err := s.svc.Agent(actorFrom(c), c.Param("id")); err != nil {
		return err
	}
	fresh, err := s.freshToken(c, service.NewToken{Name: f.Name, Agent: c.Param("id"), Days: tokenDays(c)})
	if err != nil {
		return s.again(c, err, page, func(ch views.Chrome, e *task.Error) (templ.Component, error) {
			return s.connect(c, ch, views.ConnectModel{Form: f, Errors: tokenErrors(c, e)})
		})
	}
	return s.show(c, http.StatusOK, page, func(ch views.Chrome) (templ.Component, error) {
		return s.connect(c, ch, views.ConnectModel{Fresh: fresh})
	})
}
