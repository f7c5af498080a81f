package handlers

import (
	"path/filepath"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// agentRuns is how many runs the page of an agent lists.
const agentRuns = 20

func (s *Server) agentsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	agents, err := s.svc.Agents(actorOf(c))
	if err != nil {
		return nil, err
	}
	o, err := s.svc.Overview(c.Request().Context(), actorOf(c))
	m := views.AgentsModel{Agents: make([]views.AgentRow, len(agents))}
	for i, a := range agents {
		m.Agents[i] = views.AgentRow{Agent: a, Queued: o.Loads[a.ID].Queued, Working: o.Loads[a.ID].Working, Weaker: s.weaker(a.Runner, a.Tools), Runner: s.runner(actorOf(c), a.Runner)}
	}
	m.Runners = s.runners(actorOf(c))
	if ch.CanAdmin && s.opt.DataDir != "" {
		m.Folder = filepath.Join(s.opt.DataDir, "agents")
		m.Strays = s.svc.StrayFiles()
	}
	return views.AgentsPage(ch, m), err
}

func (s *Server) agentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m, err := s.agentModel(c, c.Param("id"))
	return views.AgentPage(ch, m), err
}

func (s *Server) agentModel(c echo.Context, id string) (m views.AgentModel, err error) {
	ctx, a := c.Request().Context(), actorOf(c)
	if m.Agent, err = s.svc.Agent(a, id); err != nil {
		return m, err
	}
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return m, err
	}
	m.Weaker, m.Runner = s.weaker(m.Agent.Runner, m.Agent.Tools), s.runner(a, m.Agent.Runner)
	if m.Budgets, err = s.svc.Budgets(ctx, a, id); err != nil {
		return m, err
	}
	m.Queued, m.Working = o.Loads[id].Queued, o.Loads[id].Working
	runs, err := s.svc.Runs(ctx, a, task.RunFilter{Agent: id, Limit: agentRuns})
	if err != nil {
		return m, err
	}
	m.Runs = values(runs)
	m.Todo, err = s.todoModel(c, id)
	return m, err
}

func (s *Server) newAgentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	return views.AgentEditPage(ch, views.AgentEditModel{New: true, Text: views.NewAgentText}), nil
}

func (s *Server) editAgentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	a, err := s.svc.Agent(actorOf(c), c.Param("id"))
	return views.AgentEditPage(ch, views.AgentEditModel{ID: a.ID, Text: onDisk(&a), Hash: a.FileHash, Problems: a.Problems}), err
}

// onDisk is the text of the file as it is.
func onDisk(a *task.Agent) string {
	if a.FileText != "" {
		return a.FileText
	}
	return a.Text
}

func (s *Server) createAgent(c echo.Context) error {
	m := views.AgentEditModel{New: true, ID: c.FormValue("id"), Text: text(c, "text")}
	if s.svc.KnowsAgent(m.ID) {
		e := task.Errorf(task.Conflict, task.CodeNameTaken, "There is an agent %s already: choose another name, or edit that one", m.ID)
		return s.agentAgain(c, m, e, task.Agent{})
	}
	return s.keepAgent(c, m)
}

func (s *Server) updateAgent(c echo.Context) error {
	m := views.AgentEditModel{ID: c.Param("id"), Text: text(c, "text"), Hash: c.FormValue("hash")}
	if !s.svc.KnowsAgent(m.ID) {
		return task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", m.ID)
	}
	return s.keepAgent(c, m)
}

func (s *Server) keepAgent(c echo.Context, m views.AgentEditModel) error {
	def, err := s.svc.SaveAgent(formContext(c), actorOf(c), m.ID, m.Text, m.Hash, c.FormValue("force") != "")
	if task.IsCode(err, task.CodeStaleAgent) {
		// The same form sent twice finds its own text.
		if now, e := s.svc.Agent(actorOf(c), m.ID); e == nil && onDisk(&now) == m.Text {
			err = nil
		}
	}
	if err != nil {
		return s.agentAgain(c, m, err, def)
	}
	return s.done(c, views.URL.Agent(m.ID), "Saved %s", m.ID)
}

// agentAgain shows the editor with the text as typed and what is wrong; def
// holds the findings in it.
func (s *Server) agentAgain(c echo.Context, m views.AgentEditModel, err error, def task.Agent) error {
	e, ok := refusal(err)
	if !ok {
		return err
	}
	if m.Problems = def.Problems; e.Kind == task.Invalid && len(def.Problems) > 0 {
		m.Invalid = true
	} else {
		m.Error = e.Message
	}
	page := views.URL.NewAgent()
	if !m.New {
		page = views.URL.AgentAct(m.ID, "edit")
	}
	if now, err := s.svc.Agent(actorOf(c), m.ID); err == nil && e.Code == task.CodeStaleAgent {
		m.OnDisk, m.Hash = onDisk(&now), now.FileHash
		m.Error += ". The file as it is now stands below; saving replaces it."
	}
	return s.again(c, e, page, func(ch views.Chrome) (templ.Component, error) { return views.AgentEditPage(ch, m), nil })
}

func (s *Server) deleteAgent(c echo.Context) error {
	id := c.Param("id")
	err := s.svc.DeleteAgent(formContext(c), actorOf(c), id)
	if err == nil {
		return s.done(c, views.URL.Agents(), "Deleted %s", id)
	}
	e, ok := refusal(err)
	if !ok {
		return err
	}
	return s.again(c, e, views.URL.Agent(id), func(ch views.Chrome) (templ.Component, error) {
		m, err := s.agentModel(c, id)
		m.Error = e.Message
		return views.AgentPage(ch, m), err
	})
}

// probeRunners has the runners looked at again; the page shows what was found
// as it comes in.
func (s *Server) probeRunners(c echo.Context) error {
	if s.opt.Runners != nil {
		s.opt.Runners.Refresh()
	}
	return s.done(c, views.URL.Agents(), "Looking at the runners again")
}

func (s *Server) reloadAgents(c echo.Context) error {
	if err := s.svc.ReloadAgents(actorOf(c)); err != nil {
		return err
	}
	return s.done(c, views.URL.Agents(), "Read all definitions again")
}
