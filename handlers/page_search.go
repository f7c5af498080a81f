package handlers

import (
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// How many matches of each kind a search shows, and how long the query may be.
const (
	foundTasks   = 8
	foundOld     = 5
	foundAgents  = 5
	maxSearching = 200 // runes
)

// searchPage finds pages, agents and tasks; the palette uses it too.
func (s *Server) searchPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m := views.SearchModel{Query: searched(c)}
	if m.Query == "" {
		m.Places = views.Places(ch, "")
		return views.SearchPage(ch, m), nil
	}
	m.Places = views.Places(ch, m.Query)
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if len(m.Agents) < foundAgents && views.ContainsAll(a.ID+" "+a.Name, m.Query) {
			m.Agents = append(m.Agents, a)
		}
	}
	if err := s.findTasks(c, &m); err != nil {
		return nil, err
	}
	return views.SearchPage(ch, m), nil
}

// findTasks finds a task by its number and tasks by their words.
func (s *Server) findTasks(c echo.Context, m *views.SearchModel) error {
	ctx, a := c.Request().Context(), actorFrom(c)
	if id, err := task.ParseID(strings.TrimPrefix(m.Query, "#")); err == nil {
		t, err := s.svc.Task(ctx, a, id)
		if err != nil && errorKind(err) != task.NotFound {
			return err
		}
		if err == nil {
			m.Tasks = append(m.Tasks, t)
		}
	}
	open, err := s.svc.OpenTasks(ctx, a, task.TaskFilter{Query: m.Query, Limit: foundTasks})
	if err != nil {
		return err
	}
	for _, t := range open.Tasks {
		if len(m.Tasks) == 0 || m.Tasks[0].ID != t.ID {
			m.Tasks = append(m.Tasks, t)
		}
	}
	old, err := s.svc.History(ctx, a, task.HistoryFilter{Query: m.Query, Limit: foundOld})
	m.Indexing = old.Indexing
	for _, t := range old.Tasks {
		if len(m.Tasks) == 0 || m.Tasks[0].ID != t.ID {
			m.Old = append(m.Old, t)
		}
	}
	if err != nil || isScriptRequest(c) {
		return err // the palette shows only titles
	}
	m.Hits, err = s.svc.Hits(ctx, a, m.Query, slices.Concat(m.Tasks, m.Old))
	return err
}

// searched returns the query of a person, on one line and truncated.
func searched(c echo.Context) string {
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(c.QueryParam("q"), "")), " "))
	return strings.TrimSpace(string(r[:min(len(r), maxSearching)]))
}
