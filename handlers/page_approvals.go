package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// recentRuns is how many runs of an agent a reviewer can compare with.
const recentRuns = 12

// waiting returns the runs that wait for a reviewer: first running ones that
// ask before a tool call, then those that have not started.
func (s *Server) waiting(c echo.Context) ([]*task.Run, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	asking, err := s.svc.Asking(ctx, a)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Waiting(ctx, a)
	return append(asking, list...), err
}

// approvalsPage shows the first waiting run next to the list.
func (s *Server) approvalsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	waiting, err := s.waiting(c)
	if err != nil || len(waiting) == 0 {
		return views.ApprovalsPage(ch, views.ApprovalsModel{}), err
	}
	// Live parts must keep showing this run if it is decided in the meantime.
	ch.Path = views.URL.Approval(waiting[0].ID)
	return s.approvals(c, ch, waiting, waiting[0].ID, views.DecideForm{})
}

func (s *Server) approvalPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	waiting, err := s.waiting(c)
	if err != nil {
		return nil, err
	}
	return s.approvals(c, ch, waiting, id, views.DecideForm{})
}

func (s *Server) approvals(c echo.Context, ch views.Chrome, waiting []*task.Run,
	id task.ID, form views.DecideForm,
) (templ.Component, error) {
	d, err := s.approvalDetail(c, ch, id)
	if err != nil {
		return nil, err
	}
	d.Form = form
	if d.Before, err = s.specBefore(c, id, form); err != nil {
		return nil, err
	}
	m := views.ApprovalsModel{Waiting: values(waiting), Selected: d, ReadOnly: s.readOnly(waiting)}
	m.Recent, err = s.recentRunsByAgent(c, waiting)
	return views.ApprovalsPage(ch, m), err
}

// specBefore returns the spec of a run when this reviewer last looked at it, or
// else before it changed; nil if it did not.
func (s *Server) specBefore(c echo.Context, id task.ID, form views.DecideForm) (*task.Spec, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	if form.Changed {
		if seen, err := s.svc.SpecBefore(ctx, a, id, c.FormValue("version")); seen != nil || err != nil {
			return seen, err
		}
	}
	return s.svc.SpecBefore(ctx, a, id, "")
}

// readOnly returns the runs that may only read, which is enforced.
func (s *Server) readOnly(waiting []*task.Run) (list []task.Run) {
	for _, r := range waiting {
		if r.Spec != nil && r.Phase == task.PhaseApproval && task.ReadOnly(r.Spec.Tools) && s.unenforced(r) == "" {
			list = append(list, *r)
		}
	}
	return list
}

// recentRunsByAgent returns the last runs of each agent with a waiting run.
func (s *Server) recentRunsByAgent(c echo.Context, waiting []*task.Run) (map[string][]task.Run, error) {
	by := map[string][]task.Run{}
	for _, r := range waiting {
		if _, ok := by[r.Agent]; ok {
			continue
		}
		runs, err := s.svc.LastRuns(c.Request().Context(), actorFrom(c), r.Agent, recentRuns)
		if err != nil {
			return nil, err
		}
		by[r.Agent] = values(runs)
	}
	return by, nil
}

func (s *Server) approvalDetail(c echo.Context, ch views.Chrome, id task.ID) (*views.ApprovalDetail, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	r, err := s.svc.Run(ctx, a, id)
	if err != nil {
		return nil, err
	}
	t, err := s.svc.Task(ctx, a, r.TaskID)
	if err != nil {
		return nil, err
	}
	d := &views.ApprovalDetail{Run: *r, MaxDepth: s.svc.Rules().TaskTool.MaxDepth, Enforced: s.enforcement(r.Spec)}
	if d.Asked, err = s.svc.LastPermission(ctx, a, id); err != nil {
		return nil, err
	}
	if !ch.CanDecide {
		d.WhyNot = "Only reviewers and admins can decide on runs."
	}
	if def, err := s.svc.Agent(a, r.Agent); err == nil {
		d.Agent = &def
	}
	recent, err := s.svc.LastRuns(ctx, a, r.Agent, recentRuns)
	if err != nil {
		return nil, err
	}
	d.Recent = values(recent)
	return d, s.loadParent(c, t, d)
}

// loadParent sets the parent of the run's task, and which step of the parent
// the task is.
func (s *Server) loadParent(c echo.Context, t *task.Task, d *views.ApprovalDetail) (err error) {
	if t.ParentTaskID == 0 {
		return nil
	}
	d.Parent, err = s.svc.Task(c.Request().Context(), actorFrom(c), t.ParentTaskID)
	if err != nil {
		return err
	}
	for i, st := range d.Parent.Steps {
		if st.TaskID == t.ID {
			d.ParentStep = i + 1
		}
	}
	return nil
}
