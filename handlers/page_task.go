package handlers

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) taskPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	v, err := taskView(c)
	if err != nil {
		return nil, err
	}
	m, err := s.taskModel(c, id, v)
	return views.TaskPage(ch, m), err
}

// taskView parses which part of a task is shown.
func taskView(c echo.Context) (v views.TaskView, err error) {
	v = views.TaskView{Tab: c.QueryParam("tab"), Show: c.QueryParam("show"), Before: c.QueryParam("before"), Since: c.QueryParam("since")}
	switch v.Tab {
	case "", "transcript", "runs", "links", "subtasks":
	default:
		return v, task.FieldErrorf("tab", "must be transcript, runs, links or subtasks")
	}
	switch v.Show {
	case "", "comments", "changes", "runs":
	default:
		return v, task.FieldErrorf("show", "must be comments, changes or runs")
	}
	v.Step, _ = strconv.Atoi(c.QueryParam("step")) // an invalid number opens nothing
	v.After, err = queryID(c, "after")
	return v, err
}

// taskModel loads everything that the page of a task shows.
func (s *Server) taskModel(c echo.Context, id task.ID, v views.TaskView) (m views.TaskModel, err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	p, err := s.svc.TaskPage(ctx, a, id, s.userZone(c))
	if err != nil {
		return m, err
	}
	m = views.TaskModel{
		Task: p.Task, View: v, Family: family(p), Subtasks: map[task.ID]*task.Task{}, Question: p.Question, Runs: p.Runs,
		Usage: p.Usage, FamilyUsage: p.Family, Blockers: p.Blockers, Blocks: p.Blocks, Prev: p.Prev, Next: p.Next, Key: views.NewKey(),
	}
	for _, t := range append(p.Subtasks.Tasks, p.Linked...) {
		m.Subtasks[t.ID] = t
	}
	if err := s.loadActivity(c, &m); err != nil {
		return m, err
	}
	if m.InForce, m.Policy, err = s.svc.ChecksInForce(ctx, a, id); err != nil {
		return m, err
	}
	if p.Task.Project != "" || !p.Task.Demands.Empty() {
		if m.Results, err = s.svc.Results(ctx, a, id); err != nil {
			return m, err
		}
		if m.Checks, err = s.svc.CheckRuns(ctx, a, id); err != nil {
			return m, err
		}
	}
	if err := s.loadTab(c, &m, p); err != nil || p.Task.Status.Archived() {
		return m, err
	}
	m.Why, m.Undo = p.Why, views.FindUndo(p.Events, a.Name, s.svc.Now())
	if m.Agents, err = s.agentOptions(c); err != nil || p.Place == 0 {
		return m, err
	}
	o, err := s.svc.Overview(ctx, a)
	load := o.Loads[p.Task.Owner]
	m.Place = place(p.Place, load.Queued+load.Working)
	return m, err
}

// loadTab loads what only the open tab shows.
func (s *Server) loadTab(c echo.Context, m *views.TaskModel, p service.TaskPage) (err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	switch {
	case m.View.Tab == "transcript" && len(p.Runs) > 0:
		r := p.Runs[0]
		if p.OpenRun != nil && p.OpenRun.Status == task.RunRunning {
			r = p.OpenRun
		}
		m.Transcript = &views.RunModel{Run: *r, Zone: s.userZone(c)}
		m.Transcript.Part, err = s.svc.TranscriptPart(ctx, a, r.ID, task.TranscriptQuery{})
	case m.View.Tab == "subtasks":
		m.Below, m.BelowNext, err = s.subtasks(c, m.Task.ID, m.View.After)
	}
	return err
}

// subtasks returns a page of all subtasks by number, and after which one the
// next page begins.
func (s *Server) subtasks(c echo.Context, id, after task.ID) (list []*task.Task, next task.ID, err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	open, err := s.svc.Subtasks(ctx, a, id, after, true, taskRows+1)
	if err != nil {
		return nil, 0, err
	}
	archived, err := s.svc.Subtasks(ctx, a, id, after, false, taskRows+1)
	list = slices.Concat(open, archived)
	slices.SortFunc(list, func(a, b *task.Task) int { return cmp.Compare(a.ID, b.ID) })
	if len(list) > taskRows {
		list = list[:taskRows]
		next = list[taskRows-1].ID
	}
	return list, next, err
}

// taskAct returns the handler of most posts of the task page: one action on the
// task, and a message about it. An error is shown on the task's own page, with
// the typed text, which entries returns.
func (s *Server) taskAct(act func(echo.Context, task.ID) (string, error), entries func(echo.Context) views.TaskEntries) echo.HandlerFunc {
	return withID(func(c echo.Context, id task.ID) error {
		message, err := act(c, id)
		if err != nil {
			return s.taskAgain(c, id, err, entries(c))
		}
		anchor, _ := c.Get("anchor").(string)
		return s.done(c, views.URL.Task(id)+anchor, "%s", message)
	})
}

// noEntries returns the entries of actions without input.
func noEntries(echo.Context) views.TaskEntries { return views.TaskEntries{} }

// taskAgain shows the page of a task again with why an action failed.
func (s *Server) taskAgain(c echo.Context, id task.ID, err error, typed views.TaskEntries) error {
	return s.again(c, err, views.URL.Task(id), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		m, err := s.taskTyped(c, id, typed)
		if err != nil {
			return nil, err
		}
		if e.Kind == task.Invalid && len(e.AllFields()) > 0 && typed.Errors != nil {
			m.Entries.Errors = typedErrors(e, typed)
		} else {
			m.Notice = e.Message
			if typed.Errors == nil || m.IsFormGone(typed) {
				m.Unsaved = unsavedText(c)
			}
		}
		return views.TaskPage(ch, m), nil
	})
}

// taskTyped returns the page of a task with the typed text of one of its forms.
func (s *Server) taskTyped(c echo.Context, id task.ID, typed views.TaskEntries) (views.TaskModel, error) {
	v := views.TaskView{}
	if typed.ResourceAt > 0 {
		v.Tab = "links"
	}
	m, err := s.taskModel(c, id, v)
	m.Entries = typed
	return m, err
}

// typedErrors shows an error at the form that was sent.
func typedErrors(e *task.Error, typed views.TaskEntries) ui.FieldErrors {
	fe := ui.FieldErrorsFrom(e)
	for to, from := range typed.Errors {
		fe = renamed(fe, from, to)
	}
	return fe
}
