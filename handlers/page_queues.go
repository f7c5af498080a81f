package handlers

import (
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
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
		Filter: f, Stats: queueStats(b.BoardDay, ch.Now), Columns: queueColumns(b.Columns), After: filter.After, More: b.More,
	}
	m.Bar = views.FilterModel{Filter: f, Agents: b.Agents, Sum: boardSum(f, b.Open, len(b.Agents), m.Columns)}
	return views.QueuesPage(ch, m), nil
}

// boardSum returns how much the board shows: what matches the filter, not the
// whole server.
func boardSum(f views.QueueFilter, open, agents int, columns []views.QueueColumn) string {
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

func queueStats(d service.BoardDay, now task.Time) *views.QueueStats {
	oldest := now
	if d.OldestAt != 0 {
		oldest = min(oldest, d.OldestAt)
	}
	return &views.QueueStats{
		Done24h: d.Done24h, Waiting: d.Waiting, Oldest: now.Sub(oldest), MedianRun: time.Duration(d.MedianRunMs) * time.Millisecond,
		Rows: d.Hours, Depths: d.Depths, Today: d.Today, Budget: d.Budget,
	}
}

func queueColumns(columns []service.BoardColumn) []views.QueueColumn {
	list := make([]views.QueueColumn, len(columns))
	for i, b := range columns {
		col := views.QueueColumn{Agent: b.Agent, Invalid: b.Invalid, Running: b.Running, Slots: b.Slots, LastRun: b.LastRun, Cut: b.Cut}
		for _, g := range b.Groups {
			group := views.CardGroup{Glyph: ui.ShownGlyph(g.Shown), More: g.More}
			for _, card := range g.Cards {
				group.Cards = append(group.Cards, views.Card{Task: card.Task, Activity: card.Activity, Reason: card.Reason})
			}
			col.Groups = append(col.Groups, group)
		}
		list[i] = col
	}
	return list
}

func agentIDs(agents []task.Agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}
