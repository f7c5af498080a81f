package service

import (
	"context"
	"slices"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Page is one page of a list and the cursor of the next, "" at the end.
type Page struct {
	Tasks    []*task.Task
	Next     string
	Indexing int // per cent of the history that a search finds while it is still indexing; else 0
}

// OpenTasks returns draft and active tasks by priority, then age. Errors: bad
// limit, label or cursor; unknown owner is an empty list. An agent with
// tasks:own gets those that it owns, and those below them with f.Parent.
func (s *Service) OpenTasks(ctx context.Context, a task.Actor, f task.TaskFilter) (Page, error) {
	return s.openTasks(ctx, a, f, false)
}

// TaskLines is OpenTasks with counts in the place of steps and resources.
func (s *Service) TaskLines(ctx context.Context, a task.Actor, f task.TaskFilter) (Page, error) {
	return s.openTasks(ctx, a, f, true)
}

// Cards is OpenTasks with counts in the place of steps and resources. Several
// callers may be given the same tasks: they are read-only.
func (s *Service) Cards(ctx context.Context, a task.Actor, f task.TaskFilter) (Page, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return Page{}, err
	}
	if f.Query != "" || f.MinPriority != nil { // hardly ever asked twice
		return s.openTasks(ctx, a, f, true)
	}
	return s.cards.one(s.hub.Generation(), s.Now(), f, func() (Page, error) { return s.openTasks(ctx, a, f, true) })
}

// mayList checks what a filter asks for, but for its limit.
func (s *Service) mayList(a task.Actor, f task.TaskFilter) error {
	if err := s.allowed(a, task.Read); err != nil {
		return err
	}
	return checkList(f)
}

func checkList(f task.TaskFilter) error {
	switch {
	case f.Label != "" && !task.ValidLabel(f.Label):
		return task.FieldErrorf("label", "must be 1 to 32 characters of a-z, 0-9 and -")
	case f.Shown != "" && !f.Shown.Valid():
		return task.FieldErrorf("status", "must be working, waiting, failed, idle or draft")
	case f.Blocked != "" && f.Blocked != "yes" && f.Blocked != "no":
		return task.FieldErrorf("blocked", "must be yes or no")
	case f.Sort != "" && !slices.Contains(task.TaskSorts, f.Sort):
		return task.FieldErrorf("sort", "must be id, title, agent, priority, age or changed")
	}
	return nil
}

func (s *Service) openTasks(ctx context.Context, a task.Actor, f task.TaskFilter, card bool) (p Page, err error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return p, err
	}
	if err := checkList(f); err != nil {
		return p, err
	}
	if f.Limit < 1 || f.Limit > 500 {
		return p, task.FieldErrorf("limit", "must be 1 to 500")
	}
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		none, err := s.narrowOpen(rx, a, &f)
		if err != nil || none {
			p.Tasks = []*task.Task{}
			return err
		}
		p.Tasks, p.Next, err = rx.OpenTasks(f, card)
		return err
	})
	return p, err
}

// Queue returns an agent's active tasks in order. Error: unknown agent.
func (s *Service) Queue(ctx context.Context, a task.Actor, agent string, full bool, limit int, after string) (Page, error) {
	return s.queue(ctx, a, task.TaskFilter{Owner: agent, Full: full, Limit: limit, After: after}, false)
}

// QueueLines is Queue with counts in the place of steps and resources.
func (s *Service) QueueLines(ctx context.Context, a task.Actor, agent string, limit int, after string) (Page, error) {
	return s.queue(ctx, a, task.TaskFilter{Owner: agent, Limit: limit, After: after}, true)
}

func (s *Service) queue(ctx context.Context, a task.Actor, f task.TaskFilter, lines bool) (Page, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return Page{}, err
	}
	if !s.KnowsAgent(f.Owner) {
		return Page{}, agentNotFoundError(f.Owner)
	}
	f.Status = task.Active
	return s.openTasks(ctx, a, f, lines)
}

// Events returns lines of the log, oldest first. Events about people, their
// sign-ins and tokens are for admins and left out for others, as is the address
// of every caller. Error: bad
// limit.
func (s *Service) Events(ctx context.Context, a task.Actor, f task.EventFilter) ([]task.Event, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	if f.TaskID == 0 && s.isOwnTasksOnly(a) {
		return nil, ownOnlyError(a)
	}
	if f.Limit < 1 || f.Limit > 500 {
		return nil, task.FieldErrorf("limit", "must be 1 to 500")
	}
	f.Nouns = task.EventNouns(a.Role)
	return read(ctx, s, func(rx *db.Rx) ([]task.Event, error) {
		if f.TaskID != 0 {
			if _, err := s.find(rx, a, f.TaskID, false); err != nil {
				return nil, err
			}
		}
		list, err := rx.Events(f)
		if !a.May(task.Admin) {
			for i := range list {
				list[i].Address = ""
			}
		}
		return list, err
	})
}

// LastEvent returns the id of the newest line of the log.
func (s *Service) LastEvent(ctx context.Context) (task.ID, error) {
	return read(ctx, s, func(rx *db.Rx) (task.ID, error) { return rx.LastEventID() })
}

// Overview is the state of the instance in numbers.
type Overview struct {
	Loads     map[string]db.AgentLoad
	Open      int
	Active    int
	Approvals int
	Inbox     int // what waits for a person, approvals too
}

// Overview returns how busy each agent is; an agent with tasks:own how busy it
// is itself. Error: may not read.
func (s *Service) Overview(ctx context.Context, a task.Actor) (Overview, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return Overview{}, err
	}
	o, err := s.overview(ctx)
	if err == nil && s.isOwnTasksOnly(a) {
		l := o.Loads[a.Name]
		o = Overview{Loads: map[string]db.AgentLoad{a.Name: l}, Active: l.Queued + l.Working, Open: l.Queued + l.Working + l.Drafts}
	}
	return o, err
}

// InFlight returns the tasks that have a queued or running run; to an agent
// with tasks:own, those that it may see. Error: may not read.
func (s *Service) InFlight(ctx context.Context, a task.Actor) ([]task.ID, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	list, err := s.inFlight.get(ctx, s, (*db.Rx).InFlight)
	if err != nil || !s.isOwnTasksOnly(a) {
		return list, err
	}
	return read(ctx, s, func(rx *db.Rx) (own []task.ID, err error) {
		for _, id := range list {
			kin, err := relationToAgent(rx, a, id)
			if err != nil {
				return nil, err
			}
			if kin != db.NoRelation {
				own = append(own, id)
			}
		}
		return own, nil
	})
}

func (s *Service) overview(ctx context.Context) (Overview, error) {
	return s.loads.get(ctx, s, func(rx *db.Rx) (o Overview, err error) {
		if o.Loads, err = rx.Loads(); err != nil {
			return o, err
		}
		for _, l := range o.Loads {
			o.Active += l.Queued + l.Working
			o.Open += l.Queued + l.Working + l.Drafts
		}
		waits, err := rx.InboxTotals(0, s.config().Attempts)
		if err != nil {
			return o, err
		}
		o.Approvals, o.Inbox = waits.Approvals+waits.Permissions, waits.All()
		return o, nil
	})
}

// Stats is what the tiles show.
type Stats struct {
	Overview
	InFlight    []task.ID      // tasks that have a queued or running run
	Done24h     int            `json:"done24h"`
	Canceled24h int            `json:"canceled24h"`
	MedianRunMs int64          `json:"medianRunMs" doc:"median duration of the last 100 completed runs"`
	Hours       []db.RunTotals `json:"hours"`
}

// Stats returns counts and the hourly sums of runs since a moment.
func (s *Service) Stats(ctx context.Context, a task.Actor, since task.Time) (st Stats, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return st, err
	}
	if st.Overview, err = s.Overview(ctx, a); err != nil {
		return st, err
	}
	if st.InFlight, err = s.InFlight(ctx, a); err != nil {
		return st, err
	}
	r, err := s.recent.get(ctx, s, readRecent)
	if err != nil {
		return st, err
	}
	st.Done24h, st.Canceled24h, st.MedianRunMs = r.done, r.canceled, r.medianMs
	st.Hours, err = read(ctx, s, func(rx *db.Rx) ([]db.RunTotals, error) { return rx.RunHours(since) })
	return st, err
}

// recent sums up the last 24 hours, and the last 100 completed runs.
type recent struct {
	done, canceled int
	medianMs       int64
}

func readRecent(rx *db.Rx) (r recent, err error) {
	if r.done, r.canceled, err = rx.ArchivedSince(rx.Now.Add(-24 * time.Hour)); err != nil {
		return r, err
	}
	times, err := rx.RunTimes(100)
	if len(times) > 0 {
		slices.Sort(times)
		r.medianMs = times[len(times)/2]
	}
	return r, err
}

// About is what the About page and readiness show.
type About struct {
	Path          string
	SchemaVersion int64
	Engine        db.Engine
	Counts        db.Counts
	Metrics       db.Metrics
	Open          db.IndexState // of what lists know of open tasks
	History       db.IndexState // of the search of archived tasks
}

// About describes the store.
func (s *Service) About(ctx context.Context) (ab About, err error) {
	ab.Path, ab.Metrics = s.db.Path(), s.db.Metrics()
	if ab.SchemaVersion, err = s.db.SchemaVersion(ctx); err != nil {
		return ab, err
	}
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		if ab.Engine, err = rx.Engine(); err != nil {
			return err
		}
		if ab.Counts, err = rx.Counts(); err != nil {
			return err
		}
		if ab.Open, err = rx.OpenIndexState(); err != nil {
			return err
		}
		ab.History, err = rx.IndexState()
		return err
	})
	return ab, err
}
