package handlers

import (
	"cmp"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

const (
	columnRead  = 100 // tasks of a queue that the board looks at
	columnCards = 25  // cards of a column
	listRows    = 200 // rows of the list view
)

func (s *Server) queuesPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := views.QueueFilter{View: c.QueryParam("view"), Agent: c.QueryParam("agent"), Status: c.QueryParam("status"), Query: c.QueryParam("q"), Label: c.QueryParam("label")}
	m := views.QueuesModel{Filter: f}
	agents, err := s.svc.Agents(actorOf(c))
	if err != nil {
		return nil, err
	}
	stats, err := s.svc.Stats(c.Request().Context(), actorOf(c), dayStart(ch.Now))
	if err != nil {
		return nil, err
	}
	m.AgentIDs, m.Stats = agentIDs(agents), queueStats(stats, ch.Now)
	if f.View == "list" {
		m.Tasks, m.More, err = s.queueRows(c, f)
	} else {
		m.Columns, err = s.columns(c, f, agents, stats.Overview)
	}
	return views.QueuesPage(ch, m), err
}

func dayStart(now task.Time) task.Time {
	return task.TimeOf(now.Std().Truncate(24 * time.Hour))
}

func queueStats(st service.Stats, now task.Time) *views.QueueStats {
	q := &views.QueueStats{Done24h: st.Done24h, MedianRun: time.Duration(st.MedianRunMs) * time.Millisecond}
	oldest := now
	for _, l := range st.Loads {
		q.Waiting += l.Queued
		if l.OldestAt != 0 {
			oldest = min(oldest, l.OldestAt)
		}
	}
	q.Oldest = now.Sub(oldest)
	for _, h := range st.Hours {
		q.RunsToday += h.Runs
		if h.Status == string(task.RunFailed) {
			q.Failed += h.Runs
		}
	}
	return q
}

func agentIDs(agents []task.Agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}

func (s *Server) queueRows(c echo.Context, f views.QueueFilter) ([]*task.Task, int, error) {
	list, next, err := s.cards(c, cardFilter{f.Agent, f.Status, f.Query, f.Label, ""}, listRows)
	if err != nil {
		return nil, 0, err
	}
	more := max(0, len(list)-listRows)
	if next != "" && f.Status == "" && f.Query == "" && f.Label == "" {
		n, err := s.openCount(c, f.Agent)
		if err != nil {
			return nil, 0, err
		}
		more = n - listRows
	}
	return list[:min(len(list), listRows)], more, nil
}

// openCount counts open tasks of an agent, or of all with "".
func (s *Server) openCount(c echo.Context, agent string) (int, error) {
	o, err := s.svc.Overview(c.Request().Context(), actorOf(c))
	if err != nil || agent == "" {
		return o.Open, err
	}
	l := o.Loads[agent]
	return l.Queued + l.Working + l.Drafts, nil
}

// columns makes one column an agent; owners whose definition is gone have one
// too, so that no task is out of sight.
func (s *Server) columns(c echo.Context, f views.QueueFilter, agents []task.Agent, o service.Overview) ([]views.QueueColumn, error) {
	agents = slices.Clone(agents) // the folder's own list stays as it is
	for owner := range o.Loads {
		if !slices.ContainsFunc(agents, func(a task.Agent) bool { return a.ID == owner }) {
			agents = append(agents, task.Agent{ID: owner, Status: task.AgentInvalid, PullOnly: true})
		}
	}
	// Empty queues stand last: a narrow screen shows one column at a time.
	slices.SortFunc(agents, func(a, b task.Agent) int {
		return cmp.Or(cmp.Compare(idle(o, a.ID), idle(o, b.ID)), cmp.Compare(a.ID, b.ID))
	})
	var cols []views.QueueColumn
	for i := range agents {
		if f.Agent != "" && agents[i].ID != f.Agent {
			continue
		}
		col, err := s.column(c, f, &agents[i], o)
		if err != nil {
			return nil, err
		}
		if len(col.Groups) > 0 || f.Status == "" && f.Query == "" && f.Label == "" {
			cols = append(cols, col)
		}
	}
	return cols, nil
}

// idle is 1 for an agent without open tasks, else 0.
func idle(o service.Overview, agent string) int {
	if l := o.Loads[agent]; l.Queued+l.Working+l.Drafts > 0 {
		return 0
	}
	return 1
}

func (s *Server) column(c echo.Context, f views.QueueFilter, a *task.Agent, o service.Overview) (views.QueueColumn, error) {
	col := views.QueueColumn{Agent: a.ID, Invalid: a.Status == task.AgentInvalid}
	if a.Serving && !a.PullOnly {
		col.Slots, col.LastRun = max(a.MaxParallel, 1), o.LastEnd[a.ID]
	}
	load, plain := o.Loads[a.ID], f.Status == "" && f.Query == "" && f.Label == ""
	if plain && load.Queued+load.Working+load.Drafts == 0 {
		return col, nil
	}
	want := columnRead
	if plain && load.Working+load.Waiting+load.Failed+load.Drafts == 0 && len(o.InFlight) == 0 {
		want = columnCards // nothing further down could come before these
	}
	tasks, next, err := s.cards(c, cardFilter{a.ID, f.Status, f.Query, f.Label, ""}, want)
	if err != nil {
		return col, err
	}
	for _, t := range tasks {
		if t.OpenRunID != 0 && t.OpenRunPhase != task.PhaseApproval && t.OpenRunPhase != task.PhaseQueued {
			col.Running++
		}
	}
	col.Groups = trimGroups(views.GroupCards(tasks, columnCards, nil), columnCards)
	if plain && next != "" {
		addUnread(col.Groups, load.Queued+load.Working+load.Drafts-len(tasks))
	}
	return col, nil
}

// trimGroups leaves a column at most limit cards; what waits for people and
// what is worked on goes last.
func trimGroups(groups []views.CardGroup, limit int) []views.CardGroup {
	for _, g := range []views.Glyph{views.GlyphWait, views.GlyphFail, views.GlyphWork, views.GlyphIdle, views.GlyphDraft} {
		for i := range groups {
			if groups[i].Glyph != g {
				continue
			}
			keep := min(len(groups[i].Cards), limit)
			groups[i].More += len(groups[i].Cards) - keep
			groups[i].Cards = groups[i].Cards[:keep]
			limit -= keep
		}
	}
	return groups
}

// addUnread counts the tasks that the board has not read with its last group,
// which holds the lowest in the queue.
func addUnread(groups []views.CardGroup, n int) {
	if len(groups) > 0 && n > 0 {
		groups[len(groups)-1].More += n
	}
}
