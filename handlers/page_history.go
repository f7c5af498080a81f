package handlers

import (
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

const historyRows = 100

func (s *Server) historyPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	q := views.HistoryQuery{
		Agent: c.QueryParam("agent"), Status: c.QueryParam("status"), Query: c.QueryParam("q"),
		From: c.QueryParam("from"), To: c.QueryParam("to"), Before: c.QueryParam("before"),
	}
	f := task.HistoryFilter{Owner: q.Agent, Status: task.Status(q.Status), Query: q.Query, Before: q.Before, Limit: historyRows}
	var err error
	if f.From, err = dayBound("from", q.From, 0); err != nil {
		return nil, err
	}
	if f.To, err = dayBound("to", q.To, 24*time.Hour); err != nil {
		return nil, err
	}
	agents, err := s.svc.Agents(actorOf(c))
	if err != nil {
		return nil, err
	}
	p, err := s.svc.History(c.Request().Context(), actorOf(c), f)
	return views.HistoryPage(ch, views.HistoryModel{Tasks: values(p.Tasks), Query: q, Agents: agentIDs(agents), Next: p.Next}), err
}

// dayBound reads a day of the calendar, UTC, moved by d; "" is no bound.
func dayBound(field, s string, d time.Duration) (task.Time, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, task.FieldErrorf(field, "must be a day such as 2026-01-31")
	}
	return task.TimeOf(t.Add(d)), nil
}
