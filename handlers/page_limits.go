package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/views"
)

// Limit is one bound of the configuration, as people read it.
type Limit struct {
	Key   string // as in taskyard.toml, such as runs.timeout
	Value string
	About string // what it bounds
}

// limitsPage shows what is bounded, and what is used of the budgets.
func (s *Server) limitsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ctx, a := c.Request().Context(), actorOf(c)
	var m views.LimitsModel
	for _, by := range []string{"agent", "model", "day"} {
		u, err := s.svc.Usage(ctx, a, by, 0, 0)
		if err != nil {
			return nil, err
		}
		m.Usage, m.Budgets = append(m.Usage, u), u.Budgets
	}
	for _, l := range s.opt.Limits {
		m.Limits = append(m.Limits, views.Limit(l))
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
