package handlers

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// unnamed is the ID for checking a new definition before it has one.
const unnamed = "new-agent"

func (s *Server) newAgentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m := views.AgentEditModel{New: true, From: c.QueryParam("from")}
	if err := s.applyTemplate(c, &m); err != nil {
		return nil, err
	}
	return s.editor(c, ch, m)
}

// applyTemplate fills the editor of a new definition from a template; an
// unknown key means the first.
func (s *Server) applyTemplate(c echo.Context, m *views.AgentEditModel) (err error) {
	if m.Templates, err = s.svc.AgentTemplates(actorFrom(c)); err != nil {
		return err
	}
	chosen := m.Templates[0]
	for _, t := range m.Templates {
		if t.Key == m.From {
			chosen = t
		}
	}
	m.From, m.Text = chosen.Key, chosen.Text
	if chosen.ID != "" && !s.svc.KnowsAgent(chosen.ID) {
		m.ID = chosen.ID
	}
	return nil
}

func (s *Server) editAgentPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	a, err := s.svc.Agent(actorFrom(c), c.Param("id"))
	if err != nil {
		return nil, err
	}
	text := unixLineEndings(fileText(&a))
	return s.editor(c, ch, views.AgentEditModel{ID: a.ID, Text: text, Base: text, Hash: a.FileHash})
}

// editor returns the page with the check of its text.
func (s *Server) editor(c echo.Context, ch views.Chrome, m views.AgentEditModel) (templ.Component, error) {
	a, id := actorFrom(c), m.ID
	switch {
	case m.New && id == "":
		id = unnamed
	case m.New && m.IDProblem == "" && !task.ValidAgentID(id):
		m.IDProblem = "must be 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit"
	case m.New && m.IDProblem == "" && task.ReservedAgentID(id):
		m.IDProblem = "is taken by a page: choose another name"
	case m.New && m.IDProblem == "" && s.svc.KnowsAgent(id):
		m.IDProblem = "There is already an agent " + id
	}
	if !task.ValidAgentID(id) || task.ReservedAgentID(id) {
		id = unnamed // reported at its field
	}
	def, err := s.svc.CheckAgent(c.Request().Context(), a, id, m.Text)
	m.Check = views.AgentCheck{Agent: def, EnforcementGap: s.enforcementGap(def.Runner, def.Tools), Runner: s.runner(a, def.Runner)}
	if id == unnamed && def.Name == unnamed {
		m.Check.Agent.Name = ""
	}
	return views.AgentEditPage(ch, m), err
}

// fileText returns the text of the file, which may be newer than the one in use.
func fileText(a *task.Agent) string { return cmp.Or(a.FileText, a.Text) }

// editorForm parses the form of the editor.
func (s *Server) editorForm(c echo.Context) (m views.AgentEditModel, err error) {
	m = views.AgentEditModel{
		New: c.FormValue("new") != "", ID: strings.TrimSpace(c.FormValue("id")), From: c.FormValue("from"),
		Text: text(c, "text"), Base: text(c, "base"), Hash: c.FormValue("hash"),
	}
	if m.New {
		m.Templates, err = s.svc.AgentTemplates(actorFrom(c))
	}
	return m, err
}

// checkAgent shows the editor again with the errors in its text; nothing is
// written. Scripts fetch one part of the page while someone types.
func (s *Server) checkAgent(c echo.Context) error {
	m, err := s.editorForm(c)
	if err != nil {
		return err
	}
	return s.show(c, http.StatusOK, editorPath(&m), func(ch views.Chrome) (templ.Component, error) { return s.editor(c, ch, m) })
}

func editorPath(m *views.AgentEditModel) string {
	if m.New {
		return views.URL.NewAgent()
	}
	return views.URL.AgentAct(m.ID, "edit")
}

func (s *Server) createAgent(c echo.Context) error {
	m, err := s.editorForm(c)
	if err != nil {
		return err
	}
	m.New = true
	// If the same form is sent twice, the second finds its own text.
	if now, err := s.svc.Agent(actorFrom(c), m.ID); err == nil && fileText(&now) != m.Text {
		e := task.Errorf(task.Conflict, task.CodeNameTaken, "There is already an agent %s: choose another name, or edit that one", m.ID)
		m.IDProblem = e.Message
		return s.agentAgain(c, m, e)
	}
	return s.saveAgent(c, m)
}

func (s *Server) updateAgent(c echo.Context) error {
	m, err := s.editorForm(c)
	if err != nil {
		return err
	}
	m.New, m.ID = false, c.Param("id")
	if !s.svc.KnowsAgent(m.ID) && m.Hash == "" {
		return task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", m.ID)
	}
	return s.saveAgent(c, m)
}

func (s *Server) saveAgent(c echo.Context, m views.AgentEditModel) error {
	_, err := s.svc.SaveAgent(formContext(c), actorFrom(c), m.ID, m.Text, m.Hash, c.FormValue("force") != "")
	if task.IsCode(err, task.CodeStaleAgent) {
		// If the same form is sent twice, the second finds its own text.
		if now, e := s.svc.Agent(actorFrom(c), m.ID); e == nil && fileText(&now) == m.Text {
			err = nil
		}
	}
	if err != nil {
		return s.agentAgain(c, m, err)
	}
	return s.done(c, views.URL.Agent(m.ID), "Saved %s", m.ID)
}

// agentAgain shows the editor with the typed text and why it was not saved.
func (s *Server) agentAgain(c echo.Context, m views.AgentEditModel, err error) error {
	e, ok := refusal(err)
	if !ok {
		return err
	}
	switch {
	case e.Code == task.CodeStaleAgent && m.Hash != "":
		if err := s.loadConflict(c, &m); err != nil {
			return err
		}
	case e.Field == "id": // reported at its field
	case e.Kind == task.Invalid && slices.ContainsFunc(e.Fields, func(f task.FieldError) bool { return f.Field == "text" }):
		m.Invalid = true
	case m.IDProblem == "":
		m.Error = e.Message
	}
	return s.again(c, e, editorPath(&m), func(ch views.Chrome, _ *task.Error) (templ.Component, error) { return s.editor(c, ch, m) })
}

// loadConflict adds how the file has changed in the meantime. Saving again then
// overwrites that change.
func (s *Server) loadConflict(c echo.Context, m *views.AgentEditModel) error {
	ctx, a := c.Request().Context(), actorFrom(c)
	if err := s.svc.ReloadAgents(a); err != nil { // the folder may not have been read since
		return err
	}
	conflict := &views.AgentConflict{}
	now, err := s.svc.Agent(a, m.ID)
	conflict.Gone = task.IsCode(err, task.CodeAgentNotFound)
	if err != nil && !conflict.Gone {
		return err
	}
	saved, err := s.svc.AgentSaved(ctx, a, m.ID)
	if err != nil {
		return err
	}
	if saved != nil && saved.Actor != task.SystemActor.Name && producedVersion(saved, now.FileHash, conflict.Gone) {
		conflict.By, conflict.At = saved.Actor, saved.At
	}
	conflict.Now, m.Conflict, m.Hash = unixLineEndings(fileText(&now)), conflict, now.FileHash
	return nil
}

// producedVersion reports whether an event is the change that gave the file this
// hash, or deleted it.
func producedVersion(e *task.Event, hash string, deleted bool) bool {
	if e.Kind == task.EvAgentDeleted {
		return deleted
	}
	var c struct {
		Hash []string `json:"hash"` // before, after
	}
	return !deleted && json.Unmarshal(e.Changes, &c) == nil && len(c.Hash) == 2 && c.Hash[1] == hash
}
