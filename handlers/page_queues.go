package handlers

import (
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// queues shows the board. Its list is /tasks: URLs of earlier versions redirect
// there.
func (s *Server) queues(c echo.Context) error {
	if c.QueryParam("view") == "list" {
		return c.Redirect(http.StatusSeeOther, views.URL.Tasks(queueFilter(c)))
	}
	return s.page(s.queuesPage)(c)
}

func (s *Server) queuesPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := queueFilter(c)
	filter, err := taskFilter(f)
	f.After = "" // here an agent, in the list a task
	if err != nil {
		return nil, err
	}
	b, err := s.svc.Board(c.Request().Context(), actorFrom(c), filter)
	if err != nil {
		return nil, err
	}
	m := views.QueuesModel{
		Filter: f, Stats: &b.BoardDay, Columns: b.Columns, After: filter.After, More: b.More,
	}
	m.Bar = views.FilterModel{Filter: f, Agents: b.Agents, Sum: boardSum(f, b.Open, len(b.Agents), m.Columns)}
	return views.QueuesPage(ch, m), nil
}

// boardSum returns how much the board shows: what matches the filter, not the
// whole server.
func boardSum(f views.QueueFilter, open, agents int, columns []task.BoardColumn) string {
	more := ""
	if f.Narrowed() {
		open, agents = 0, len(columns)
		for i := range columns {
			open += columns[i].Total()
			if columns[i].Cut {
				more = "+"
			}
		}
	}
	return strconv.Itoa(open) + more + " open, " + ui.Count(agents, "agent", "agents")
}

func agentIDs(agents []task.Agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}
