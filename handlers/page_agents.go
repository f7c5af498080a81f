package handlers

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// agentsShown is how many agents a page of their list has.
const agentsShown = 48

// agentRuns is how many runs the page of an agent lists.
const agentRuns = 20

// agentStrip is how many runs the chart of recent runs shows.
const agentStrip = 12

func (s *Server) agentsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	o, err := s.svc.Overview(c.Request().Context(), actorFrom(c))
	if err != nil {
		return nil, err
	}
	m := views.AgentsModel{Query: strings.TrimSpace(c.QueryParam("q")), After: c.QueryParam("after"), All: len(agents)}
	agents = slices.DeleteFunc(slices.Clone(agents), func(a task.Agent) bool {
		return a.ID <= m.After || !views.ContainsAll(a.ID+" "+a.Name+" "+a.Description, m.Query)
	})
	m.More = max(0, len(agents)-agentsShown)
	agents = agents[:len(agents)-m.More]
	reports, err := s.svc.AgentReports(c.Request().Context(), actorFrom(c), agentIDs(agents), agentStrip)
	m.Agents = make([]views.AgentRow, len(agents))
	for i, a := range agents {
		m.Agents[i] = s.agentRow(c, a, o, reports[a.ID])
	}
	m.Runners = s.runners(actorFrom(c))
	if ch.CanAdmin && s.opt.DataDir != "" {
		m.Folder = filepath.Join(s.opt.DataDir, "agents")
		m.Strays = s.svc.StrayFiles()
	}
	return views.AgentsPage(ch, m), err
}

func (s *Server) agentRow(c echo.Context, a task.Agent, o service.Overview, r service.AgentReport) views.AgentRow {
	l := o.Loads[a.ID]
	return views.AgentRow{
		Agent: a, Queued: l.Queued, Working: l.Working, Drafts: l.Drafts,
		EnforcementGap: s.enforcementGap(a.Runner, a.Tools), Runner: s.runner(actorFrom(c), a.Runner),
		Report: views.AgentReport{Runs: r.Runs, Completed: r.Completed, Failed: r.Failed, CostUSD: r.CostUSD, Last: values(r.Last)},
	}
}

func (s *Server) agentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m, err := s.agentModel(c, c.Param("id"))
	return views.AgentPage(ch, m), err
}

func (s *Server) agentModel(c echo.Context, id string) (m views.AgentModel, err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	def, err := s.svc.Agent(a, id)
	if err != nil {
		return m, err
	}
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return m, err
	}
	reports, err := s.svc.AgentReports(ctx, a, []string{id}, 0)
	if err != nil {
		return m, err
	}
	m.AgentRow = s.agentRow(c, def, o, reports[id])
	if m.Budgets, err = s.svc.Budgets(ctx, a, id); err != nil {
		return m, err
	}
	runs, err := s.svc.Runs(ctx, a, task.RunFilter{Agent: id, Limit: agentRuns})
	if err != nil {
		return m, err
	}
	m.Runs = values(runs)
	m.Todo, err = s.todoModel(c, id)
	return m, err
}

func (s *Server) deleteAgent(c echo.Context) error {
	id := c.Param("id")
	err := s.svc.DeleteAgent(formContext(c), actorFrom(c), id)
	if err == nil {
		return s.done(c, views.URL.Agents(), "Deleted %s", id)
	}
	return s.again(c, err, views.URL.Agent(id), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m, err := s.agentModel(c, id)
		m.Error = e.Message
		return views.AgentPage(ch, m), err
	})
}

// probeRunners probes the runners again in the background; the page shows the
// results as they arrive.
func (s *Server) probeRunners(c echo.Context) error {
	if s.opt.Runners != nil {
		s.opt.Runners.Refresh()
	}
	return s.done(c, views.URL.Agents(), "Checking the runners again")
}

func (s *Server) reloadAgents(c echo.Context) error {
	if err := s.svc.ReloadAgents(actorFrom(c)); err != nil {
		return err
	}
	return s.done(c, views.URL.Agents(), "Read all definitions again")
}
