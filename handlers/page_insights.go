package handlers

import (
	"context"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// InsightsBody is what GET /api/stats returns besides counts.
type InsightsBody struct {
	Times    []task.InsightTime  `json:"times" doc:"every hour or day (UTC) since then, including empty ones; at most 400 days"`
	Groups   []task.InsightGroup `json:"byAgent" doc:"tasks and runs by agent, most expensive first"`
	Models   []task.StatRow      `json:"byModel" doc:"runs by model, most expensive first"`
	Projects []task.StatRow      `json:"byProject" doc:"tasks and runs by project, most expensive first; empty if nothing has a project"`
	Total    task.InsightGroup   `json:"total"`
}

func (s *Server) insightsBody(ctx context.Context, f task.InsightFilter) (InsightsBody, error) {
	in, err := s.svc.Insights(ctx, actorIn(ctx), f)
	b := InsightsBody{Times: in.Times, Groups: []task.InsightGroup{}, Models: []task.StatRow{}, Projects: []task.StatRow{}, Total: in.Total}
	b.Groups, b.Models, b.Projects = append(b.Groups, in.Agents...), append(b.Models, in.Models...), append(b.Projects, in.Projects...)
	return b, err
}

func (s *Server) insightsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	q := views.InsightQuery{Range: c.QueryParam("range"), Agent: c.QueryParam("agent"), Project: c.QueryParam("project")}
	span, err := views.InsightSpan(q.Range)
	if err != nil {
		return nil, err
	}
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	m := views.InsightsModel{Query: q, Zone: s.userZone(c), Agents: agentIDs(agents)}
	f := task.InsightFilter{From: ch.Now.Add(-span + time.Hour), Agent: q.Agent, Project: q.Project, Zone: m.Zone}
	if f.Daily = span > 24*time.Hour; f.Daily {
		f.From = task.TimeFromStd(task.Midnight(ch.Now, m.Zone).AddDate(0, 0, 1-int(span/(24*time.Hour))))
	}
	m.Insights, err = s.svc.Insights(c.Request().Context(), actorFrom(c), f)
	return views.InsightsPage(ch, m), err
}
