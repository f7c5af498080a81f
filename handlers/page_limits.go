package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// limitsPage shows the limits, and how much of the budgets is used.
func (s *Server) limitsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	var m views.LimitsModel
	for _, by := range []string{"agent", "model", "day"} {
		u, err := s.svc.Usage(ctx, a, by, 0, 0)
		if err != nil {
			return nil, err
		}
		m.Usage, m.Budgets = append(m.Usage, u), u.Budgets
	}
	list, err := s.svc.Settings(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		m.Limits = append(m.Limits, views.Limit{Key: l.Key, Value: l.Value, About: l.About})
	}
	for _, q := range s.svc.Quotas() {
		m.Quotas = append(m.Quotas, views.Limit{Key: q.Name, Value: q.Limit, About: q.Counts})
	}
	m.Conns = []views.Limit{
		{Value: views.Thousands(s.conns.total), About: "connections in total"},
		{Value: views.Thousands(s.conns.address), About: "connections from one remote address"},
	}
	return views.LimitsPage(ch, m), nil
}
