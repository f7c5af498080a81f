package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

const (
	columnRead  = 100 // tasks of a queue that the board reads
	columnCards = 25  // cards of a column
	boardCards  = 240 // cards of a board, shared out among its columns
	minCards    = 5   // cards that a column shows on any board
	maxColumns  = 24  // queues on one page of the board
)

// Board is the queues of all agents, or those that a filter leaves.
type Board struct {
	task.BoardDay
	Agents  []string // that are defined
	Open    int      // open tasks of the instance
	Columns []task.BoardColumn
	More    int // queues on later pages: there are too many for one
}

// Board returns the tiles of the board and one column per agent, those with
// open tasks first. Owners without a definition have a column too, so that no
// task is out of sight. A filter other than an owner leaves out columns
// without a card. f.After is the agent before the first column, "" for the first
// page. The tasks are read-only. Errors: may not read, invalid filter.
func (s *Service) Board(ctx context.Context, a task.Actor, f task.TaskFilter) (b Board, err error) {
	after := f.After
	f.Sort, f.Desc, f.After, f.Limit = "", false, "", 0 // columns have the order of queues, and limits of their own
	if err := s.mayList(a, f); err != nil {
		return b, err
	}
	if b.BoardDay, err = s.BoardDay(ctx, a); err != nil {
		return b, err
	}
	r := boardReader{s: s, ctx: ctx, filter: f, after: after}
	if r.overview, err = s.overview(ctx); err != nil {
		return b, err
	}
	if r.inFlight, err = s.InFlight(ctx, a); err != nil {
		return b, err
	}
	if r.lastEnds, err = s.lastEnds.get(ctx, s, s.readLastEnds); err != nil {
		return b, err
	}
	if r.activity, err = s.activity(ctx); err != nil {
		return b, err
	}
	if r.pauses, err = s.Pauses(ctx, a); err != nil {
		return b, err
	}
	b.Open = r.overview.Open
	defined := s.agents.Agents()
	for i := range defined {
		b.Agents = append(b.Agents, defined[i].ID)
	}
	b.Columns, b.More, err = r.columns(defined)
	return b, err
}

// readLastEnds returns when the last run ended of each agent that had one.
func (s *Service) readLastEnds(rx *db.Rx) (map[string]task.Time, error) {
	ends := map[string]task.Time{}
	for _, def := range s.agents.Agents() {
		if at, err := rx.LastEnd(def.ID); err != nil {
			return nil, err
		} else if at != 0 {
			ends[def.ID] = at
		}
	}
	return ends, nil
}

// boardReader reads the columns of one board.
type boardReader struct {
	s        *Service
	ctx      context.Context
	filter   task.TaskFilter
	after    string // the last agent of the page before
	overview Overview
	inFlight []task.ID
	lastEnds map[string]task.Time
	activity map[task.ID]string
	pauses   task.Pauses
	limit    int // cards of a column
}

// columns returns at most maxColumns columns after r.after, and how many agents
// come after the last of them.
func (r *boardReader) columns(defined []task.Agent) (list []task.BoardColumn, more int, err error) {
	agents := slices.Clone(defined) // the folder's own list stays as it is
	for owner := range r.overview.Loads {
		if !slices.ContainsFunc(agents, func(a task.Agent) bool { return a.ID == owner }) {
			agents = append(agents, task.Agent{ID: owner, Status: task.AgentInvalid, PullOnly: true})
		}
	}
	// Empty queues come last: a narrow screen shows one column at a time.
	slices.SortFunc(agents, func(a, b task.Agent) int {
		return cmp.Or(cmp.Compare(r.idle(a.ID), r.idle(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	if owner := r.filter.Owner; owner != "" {
		agents = slices.DeleteFunc(agents, func(a task.Agent) bool { return a.ID != owner })
	}
	r.limit = max(minCards, min(columnCards, boardCards/max(1, len(agents))))
	agents = agents[slices.IndexFunc(agents, func(a task.Agent) bool { return a.ID == r.after })+1:]
	for i := range agents {
		col, err := r.column(&agents[i])
		if err != nil {
			return nil, 0, err
		}
		if len(col.Groups) > 0 || r.showsWholeQueues() {
			list = append(list, col)
		}
		if len(list) == maxColumns {
			return list, len(agents) - 1 - i, nil
		}
	}
	return list, 0, nil
}

// idle is 1 for an agent without open tasks, else 0.
func (r *boardReader) idle(agent string) int {
	if l := r.overview.Loads[agent]; l.Queued+l.Working+l.Drafts > 0 {
		return 0
	}
	return 1
}

// showsWholeQueues reports whether the filter leaves out no task of a queue.
func (r *boardReader) showsWholeQueues() bool {
	f := r.filter
	f.Owner = ""
	return f == task.TaskFilter{}
}

func (r *boardReader) column(a *task.Agent) (task.BoardColumn, error) {
	col := task.BoardColumn{Agent: a.ID, Invalid: a.Status == task.AgentInvalid}
	if a.Serving && !a.PullOnly {
		col.Slots, col.LastRun = max(a.MaxParallel, 1), r.lastEnds[a.ID]
	}
	load, wholeQueues := r.overview.Loads[a.ID], r.showsWholeQueues()
	open := load.Queued + load.Working + load.Drafts
	if wholeQueues && open == 0 {
		return col, nil
	}
	f := r.filter
	f.Owner, f.Limit = a.ID, columnRead
	if wholeQueues && load.Working+load.Waiting+load.Failed+load.Drafts == 0 && len(r.inFlight) == 0 {
		f.Limit = r.limit // nothing further down could come before these
	}
	p, err := r.s.readOutlines(r.ctx, f)
	if err != nil {
		return col, err
	}
	for _, tk := range p.Tasks {
		if tk.OpenRunID != 0 && tk.OpenRunPhase != task.PhaseApproval && tk.OpenRunPhase != task.PhaseQueued {
			col.Running++
		}
	}
	col.Groups = groupTasks(p.Tasks, r.limit)
	if err := r.fill(a, col.Groups); err != nil {
		return col, err
	}
	if !wholeQueues {
		col.Cut = p.Next != ""
	} else if unread := open - len(p.Tasks); p.Next != "" && unread > 0 && len(col.Groups) > 0 {
		col.Groups[len(col.Groups)-1].More += unread // the last group holds the lowest in the queue
	}
	return col, nil
}

// fill reads the cards of which the groups have the outlines. One that changed
// meanwhile stays where it was: the page is told of the change.
func (r *boardReader) fill(a *task.Agent, groups []task.BoardGroup) error {
	var ids []task.ID
	for _, g := range groups {
		for i := range g.Cards {
			ids = append(ids, g.Cards[i].Task.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	cards, err := r.s.cardsByID(r.ctx, ids)
	if err != nil {
		return err
	}
	for _, g := range groups {
		for i := range g.Cards {
			c := &g.Cards[i]
			if tk := cards[c.Task.ID]; tk != nil {
				c.Task = tk
			}
			c.Activity, c.Reason = r.activity[c.Task.ID], r.reason(a, c.Task)
		}
	}
	return nil
}

// reason says in a few words why an idle task does not run, where the card
// alone says; its own page knows more.
func (r *boardReader) reason(a *task.Agent, tk *task.Task) string {
	if tk.Status != task.Active || tk.Claim != nil || tk.WaitingFor != "" {
		return ""
	}
	switch p := r.pauses.For(a.ID); {
	case p != nil && p.Agent == "":
		return "Taskyard is paused"
	case p != nil:
		return a.ID + " is paused"
	case !a.Serving:
		return "The definition of " + a.ID + " is invalid"
	case tk.OpenRunPhase == task.PhaseQueued:
		return fmt.Sprintf("Run %d is queued", tk.OpenRunID)
	}
	return ""
}

// groupOrder is the order of the groups in a column; keepOrder that in which
// they keep their cards when a column has too many: what waits for people and
// what is worked on is cut last.
var (
	groupOrder = []task.DisplayState{task.ShownWorking, task.ShownWaiting, task.ShownFailed, task.ShownIdle, task.ShownDraft}
	keepOrder  = []task.DisplayState{task.ShownWaiting, task.ShownFailed, task.ShownWorking, task.ShownIdle, task.ShownDraft}
)

// groupTasks makes the groups of a column of at most limit cards.
func groupTasks(tasks []*task.Task, limit int) []task.BoardGroup {
	cards := map[task.DisplayState][]task.BoardCard{}
	for _, tk := range tasks {
		shown := tk.DisplayState()
		cards[shown] = append(cards[shown], task.BoardCard{Task: tk})
	}
	more := map[task.DisplayState]int{}
	for _, shown := range keepOrder {
		all := cards[shown]
		keep := min(len(all), limit)
		cards[shown], more[shown] = all[:keep], len(all)-keep
		limit -= keep
	}
	var groups []task.BoardGroup
	for _, shown := range groupOrder {
		if len(cards[shown])+more[shown] > 0 {
			groups = append(groups, task.BoardGroup{Shown: shown, Cards: cards[shown], More: more[shown]})
		}
	}
	return groups
}
