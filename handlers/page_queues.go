package handlers

import (
	"cmp"
	"slices"
	"strconv"
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
	boardCards  = 240 // cards of a board, shared out among its columns
	fewestCards = 5   // cards that a column shows on any board
)

func (s *Server) queuesPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	f := queueFilter(c)
	m := views.QueuesModel{Filter: f}
	agents, err := s.svc.Agents(actorOf(c))
	if err != nil {
		return nil, err
	}
	o, err := s.svc.Overview(c.Request().Context(), actorOf(c))
	if err != nil {
		return nil, err
	}
	day, err := s.svc.BoardDay(c.Request().Context(), actorOf(c))
	if err != nil {
		return nil, err
	}
	m.Bar, m.Stats = views.FilterModel{Filter: f, Agents: agentIDs(agents)}, queueStats(o, day, ch.Now)
	if f.View == "list" {
		if m.Tasks, m.Next, m.OpenTasks, err = s.listed(c, f); err == nil {
			m.Bar.Sum = views.Count(m.OpenTasks, "open task", "open tasks")
		}
	} else {
		if m.Columns, err = s.columns(c, &ch, f, agents, o); err == nil {
			m.Bar.Sum = boardSum(f, o.Open, len(agents), m.Columns)
		}
	}
	return views.QueuesPage(ch, m), err
}

// boardSum says how much the board shows: what the filter leaves, not the
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
	return strconv.Itoa(open) + more + " open, " + views.Count(agents, "agent", "agents")
}

func queueStats(o service.Overview, d service.BoardDay, now task.Time) *views.QueueStats {
	q := &views.QueueStats{
		Done24h: d.Done24h, MedianRun: time.Duration(d.MedianRunMs) * time.Millisecond,
		Rows: d.Hours, Depths: d.Depths, Today: d.Today, Budget: d.Budget,
	}
	oldest := now
	for _, l := range o.Loads {
		q.Waiting += l.Queued
		if l.OldestAt != 0 {
			oldest = min(oldest, l.OldestAt)
		}
	}
	q.Oldest = now.Sub(oldest)
	return q
}

func agentIDs(agents []task.Agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}

// columns makes one column an agent; owners whose definition is gone have one
// too, so that no task is out of sight.
func (s *Server) columns(c echo.Context, ch *views.Chrome, f views.QueueFilter, agents []task.Agent, o service.Overview) ([]views.QueueColumn, error) {
	agents = slices.Clone(agents) // the folder's own list stays as it is
	for owner := range o.Loads {
		if !slices.ContainsFunc(agents, func(a task.Agent) bool { return a.ID == owner }) {
			agents = append(agents, task.Agent{ID: owner, Status: task.AgentInvalid, PullOnly: true})
		}
	}
	// Empty queues come last: a narrow screen shows one column at a time.
	slices.SortFunc(agents, func(a, b task.Agent) int {
		return cmp.Or(cmp.Compare(idle(o, a.ID), idle(o, b.ID)), cmp.Compare(a.ID, b.ID))
	})
	if f.Agent != "" {
		agents = slices.DeleteFunc(agents, func(a task.Agent) bool { return a.ID != f.Agent })
	}
	doing, err := s.svc.Doing(c.Request().Context(), actorOf(c))
	if err != nil {
		return nil, err
	}
	b := boardOf{ch: ch, f: f, o: o, doing: doing, cards: max(fewestCards, min(columnCards, boardCards/max(1, len(agents))))}
	var cols []views.QueueColumn
	for i := range agents {
		col, err := s.column(c, b, &agents[i])
		if err != nil {
			return nil, err
		}
		if len(col.Groups) > 0 || b.plain() {
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

// boardOf is what all columns of a board share.
type boardOf struct {
	ch    *views.Chrome
	f     views.QueueFilter
	o     service.Overview
	doing map[task.ID]string
	cards int // of a column
}

// plain reports whether whole queues are shown.
func (b *boardOf) plain() bool {
	f := b.f
	f.Agent = ""
	return !f.Narrowed()
}

func (s *Server) column(c echo.Context, b boardOf, a *task.Agent) (views.QueueColumn, error) {
	col := views.QueueColumn{Agent: a.ID, Invalid: a.Status == task.AgentInvalid}
	if a.Serving && !a.PullOnly {
		col.Slots, col.LastRun = max(a.MaxParallel, 1), b.o.LastEnd[a.ID]
	}
	load, plain := b.o.Loads[a.ID], b.plain()
	if plain && load.Queued+load.Working+load.Drafts == 0 {
		return col, nil
	}
	want := columnRead
	if plain && load.Working+load.Waiting+load.Failed+load.Drafts == 0 && len(b.o.InFlight) == 0 {
		want = b.cards // nothing further down could come before these
	}
	f := b.f
	f.Agent, f.Sort, f.After = a.ID, "", ""
	p, err := s.outlines(c, f, want)
	if err != nil {
		return col, err
	}
	for _, t := range p.Tasks {
		if t.OpenRunID != 0 && t.OpenRunPhase != task.PhaseApproval && t.OpenRunPhase != task.PhaseQueued {
			col.Running++
		}
	}
	col.Groups = trimGroups(views.GroupCards(p.Tasks, b.cards, b.doing), b.cards)
	if err := s.fillCards(c, col.Groups); err != nil {
		return col, err
	}
	for _, g := range col.Groups {
		for i := range g.Cards {
			g.Cards[i].Why = whyNot(b.ch, a, g.Cards[i].Task)
		}
	}
	if !plain {
		col.Cut = p.Next != ""
	} else if p.Next != "" {
		addUnread(col.Groups, load.Queued+load.Working+load.Drafts-len(p.Tasks))
	}
	return col, nil
}

// fillCards reads the cards of which the groups have the outlines. One that
// changed meanwhile stays where it was: the page is told of the change.
func (s *Server) fillCards(c echo.Context, groups []views.CardGroup) error {
	var ids []task.ID
	for _, g := range groups {
		for i := range g.Cards {
			ids = append(ids, g.Cards[i].Task.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	cards, err := s.svc.CardsOf(c.Request().Context(), actorOf(c), ids)
	if err != nil {
		return err
	}
	for _, g := range groups {
		for i := range g.Cards {
			if t := cards[g.Cards[i].Task.ID]; t != nil {
				g.Cards[i].Task = t
			}
		}
	}
	return nil
}

// whyNot says in a few words why an idle task does not run, where the card
// alone tells; its own page knows more.
func whyNot(ch *views.Chrome, a *task.Agent, t *task.Task) string {
	if t.Status != task.Active || t.Claim != nil || t.WaitingFor != "" {
		return ""
	}
	switch p := ch.Pauses.Of(a.ID); {
	case p != nil && p.Agent == "":
		return "Taskyard is paused"
	case p != nil:
		return a.ID + " is paused"
	case !a.Serving:
		return "The definition of " + a.ID + " is invalid"
	case t.OpenRunPhase == task.PhaseQueued:
		return sprintf("Run %d is queued", t.OpenRunID)
	}
	return ""
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
