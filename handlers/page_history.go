package handlers

import (
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

const historyRows = 50

func (s *Server) historyPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	q, f, err := s.historyQuery(c)
	if err != nil {
		return nil, err
	}
	agents, err := s.svc.Agents(a)
	if err != nil {
		return nil, err
	}
	zone := s.userZone(c)
	p, err := s.svc.HistoryPage(ctx, a, f, zone)
	return views.HistoryPage(ch, views.HistoryModel{
		Tasks: values(p.Tasks), Hits: p.Hits, Times: p.Times, Query: q,
		Zone: zone, Agents: agentIDs(agents), Next: p.Next, Indexing: p.Indexing,
	}), err
}

// historyQuery parses the filter of the history, in the form of the page's URLs
// and in that of the service.
func (s *Server) historyQuery(c echo.Context) (q views.HistoryQuery, f task.HistoryFilter, err error) {
	q = views.HistoryQuery{
		Agent: c.QueryParam("agent"), CreatedBy: s.actorNamed(c.QueryParam("by")), Label: strings.TrimSpace(c.QueryParam("label")),
		Project: c.QueryParam("project"), Status: c.QueryParam("status"), Query: c.QueryParam("q"), Since: c.QueryParam("since"),
		From: c.QueryParam("from"), To: c.QueryParam("to"), Before: c.QueryParam("before"),
	}
	f = task.HistoryFilter{
		Owner: q.Agent, CreatedBy: q.CreatedBy, Label: q.Label, Project: q.Project, Status: task.Status(q.Status),
		Query: q.Query, Before: q.Before, Limit: historyRows,
	}
	f.From, f.To, err = s.timeBounds(c, q.Since, q.From, q.To)
	return q, f, err
}

// actorNamed returns the actor that a name refers to: an agent, or a person.
func (s *Server) actorNamed(name string) string {
	name = strings.TrimSpace(name)
	if name == "" || name == task.System || task.IsUserName(name) || s.svc.KnowsAgent(name) {
		return name
	}
	return task.UserActorName(name)
}

// timeBounds parses the bounds of a list: how long before now it begins, its
// first and its last day, in the caller's time zone. Of two bounds, the
// narrower applies; "" is none.
func (s *Server) timeBounds(c echo.Context, since, from, to string) (first, end task.Time, err error) {
	zone := s.userZone(c)
	if first, err = dayBound("from", from, 0, zone); err != nil {
		return 0, 0, err
	}
	if since != "" {
		back, ok := map[string]time.Duration{"24h": day, "7d": 7 * day, "30d": 30 * day}[since]
		if !ok {
			return 0, 0, task.FieldErrorf("since", "must be 24h, 7d or 30d")
		}
		first = max(first, s.svc.Now().Add(-back))
	}
	end, err = dayBound("to", to, 1, zone)
	return first, end, err
}

// dayBound parses a calendar day, shifted by days.
func dayBound(field, s string, days int, zone *time.Location) (task.Time, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, zone)
	if err != nil {
		return 0, task.FieldErrorf(field, "must be a day such as 2026-01-31")
	}
	return task.TimeFromStd(t.AddDate(0, 0, days)), nil
}
