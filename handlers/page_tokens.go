package handlers

import (
	"math"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) tokensPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	return s.tokens(c, ch, views.TokensModel{Form: views.NewTokenForm(ch)})
}

func (s *Server) tokens(c echo.Context, ch views.Chrome, m views.TokensModel) (templ.Component, error) {
	var err error
	if m.Tokens, err = s.svc.Tokens(c.Request().Context(), actorFrom(c)); err != nil {
		return nil, err
	}
	if ch.CanAdmin {
		agents, err := s.svc.Agents(actorFrom(c))
		if err != nil {
			return nil, err
		}
		m.Agents = agentIDs(agents)
	}
	return views.TokensPage(ch, m), nil
}

// createToken shows the secret only in this answer: it is neither stored nor
// cached.
func (s *Server) createToken(c echo.Context) error {
	f := views.TokenForm{
		Name: c.FormValue("name"), Scope: c.FormValue("scope"), ActAs: c.FormValue("act_as") != "",
		Agent: c.FormValue("agent"), Days: c.FormValue("days"),
		Own: c.FormValue("own") != "" || !actorFrom(c).May(task.Admin),
	}
	in := service.NewToken{Name: f.Name, Scope: f.Scope, Own: f.Own}
	if f.Scope == "agent" {
		in.Scope, in.Agent = "", f.Agent
	} else if f.ActAs {
		in.Scope += " act-as"
	}
	in.Days = tokenDays(c)
	fresh, err := s.freshToken(c, in)
	if err != nil {
		return s.tokenAgain(c, f, err)
	}
	return s.show(c, http.StatusOK, views.URL.Settings("tokens"), func(ch views.Chrome) (templ.Component, error) {
		return s.tokens(c, ch, views.TokensModel{Fresh: fresh, Form: views.NewTokenForm(ch)})
	})
}

// tokenDays parses the life of a token. The service refuses what is not a
// number together with the other fields.
func tokenDays(c echo.Context) int {
	n, err := wholeNumber(c, "days")
	if err != nil {
		return math.MinInt
	}
	return n
}

// tokenErrors returns the errors of the form of a token.
func tokenErrors(c echo.Context, e *task.Error) ui.FieldErrors {
	fails := ui.FieldErrorsFrom(e)
	if _, err := wholeNumber(c, "days"); err != nil {
		fails["days"] = fieldErrors(err)["days"]
	}
	return fails
}

// freshToken creates a token, with its secret.
func (s *Server) freshToken(c echo.Context, in service.NewToken) (*views.FreshToken, error) {
	made, err := s.svc.CreateToken(formContext(c), actorFrom(c), in)
	return &views.FreshToken{Token: made.Token, Secret: made.Secret, URL: s.baseURL(c)}, err
}

func (s *Server) tokenAgain(c echo.Context, f views.TokenForm, err error) error {
	return s.again(c, err, views.URL.Settings("tokens"), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m := views.TokensModel{Form: f, Errors: renamed(tokenErrors(c, e), "own", "")}
		if f.Scope == "agent" && f.Agent == "" && m.Errors["scope"] != "" {
			delete(m.Errors, "scope")
			m.Errors["agent"] = "choose an agent"
		}
		return s.tokens(c, ch, m)
	})
}

func (s *Server) revokeToken(c echo.Context, id task.ID) error {
	if err := s.svc.RevokeToken(formContext(c), actorFrom(c), id); err != nil {
		return withBack(c, err, views.URL.Settings("tokens"))
	}
	return s.done(c, views.URL.Settings("tokens"), "Revoked the token")
}
