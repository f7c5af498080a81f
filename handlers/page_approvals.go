package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// recentRuns is how many runs of an agent a reviewer compares with.
const recentRuns = 12

// unenforced is true of every runner of kind command, the one kind that is
// started: a program of its own is nothing that Taskyard can hold to tools.
const unenforced = "It starts a program, which is told these tools and not held to them: it can do all that the account of the server can."

// waiting returns the runs that wait for a reviewer: first those that run and
// ask before a tool call, then those that have not started.
func (s *Server) waiting(c echo.Context) ([]*task.Run, error) {
	ctx, a := c.Request().Context(), actorOf(c)
	asking, err := s.svc.Asking(ctx, a)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Waiting(ctx, a)
	return append(asking, list...), err
}

// approvalsPage shows the first run that waits beside the list.
func (s *Server) approvalsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	waiting, err := s.waiting(c)
	if err != nil || len(waiting) == 0 {
		return views.ApprovalsPage(ch, views.ApprovalsModel{}), err
	}
	// Live parts must go on showing this run when it is decided meanwhile.
	ch.Path = views.URL.Approval(waiting[0].ID)
	return s.approvals(c, ch, waiting, waiting[0].ID, views.DecideForm{})
}

func (s *Server) approvalPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	id, err := idParam(c, "id")
	if err != nil {
		return nil, err
	}
	waiting, err := s.waiting(c)
	if err != nil {
		return nil, err
	}
	return s.approvals(c, ch, waiting, id, views.DecideForm{})
}

func (s *Server) approvals(c echo.Context, ch views.Chrome, waiting []*task.Run, id task.ID, form views.DecideForm) (templ.Component, error) {
	d, err := s.approvalDetail(c, ch, id)
	if err != nil {
		return nil, err
	}
	d.Form = form
	return views.ApprovalsPage(ch, views.ApprovalsModel{Waiting: values(waiting), Selected: d}), nil
}

func (s *Server) approvalDetail(c echo.Context, ch views.Chrome, id task.ID) (*views.ApprovalDetail, error) {
	ctx, a := c.Request().Context(), actorOf(c)
	r, err := s.svc.Run(ctx, a, id)
	if err != nil {
		return nil, err
	}
	t, err := s.svc.Task(ctx, a, r.TaskID)
	if err != nil {
		return nil, err
	}
	d := &views.ApprovalDetail{Run: *r, MaxDepth: s.opt.Rules.MaxDepth, Unenforced: unenforced}
	if d.Asked, err = s.svc.LastPermission(ctx, a, id); err != nil {
		return nil, err
	}
	if !ch.CanDecide {
		d.WhyNot = "Only reviewers and admins decide on runs."
	}
	if def, err := s.svc.Agent(a, r.Agent); err == nil {
		d.Agent = &def
	}
	recent, err := s.svc.LastRuns(ctx, a, r.Agent, recentRuns)
	if err != nil {
		return nil, err
	}
	d.Recent = values(recent)
	return d, s.parentOf(c, t, d)
}

// parentOf tells of which step of which task the run's task is a part.
func (s *Server) parentOf(c echo.Context, t *task.Task, d *views.ApprovalDetail) (err error) {
	if t.ParentTaskID == 0 {
		return nil
	}
	d.Parent, err = s.svc.Task(c.Request().Context(), actorOf(c), t.ParentTaskID)
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

func (s *Server) approveRun(c echo.Context) error {
	id, err := idParam(c, "id")
	if err != nil {
		return err
	}
	form := views.DecideForm{
		ScopeTask: c.FormValue("scope") == string(task.ScopeTask), TimeoutSeconds: c.FormValue("timeoutSeconds"),
		IdleSeconds: c.FormValue("idleTimeoutSeconds"), MaxTokens: c.FormValue("maxTokens"), MaxTurns: c.FormValue("maxTurns"),
	}
	in := service.Approve{Scope: task.ScopeOnce, Version: c.FormValue("version")}
	if form.ScopeTask {
		in.Scope = task.ScopeTask
	}
	var r *task.Run
	if in.Limits, err = formLimits(c); err == nil {
		r, err = s.svc.ApproveRun(formContext(c), actorOf(c), id, in)
	}
	if err != nil {
		return s.decideAgain(c, id, err, form)
	}
	return s.done(c, views.URL.Approvals(), "Run %d %s", id, views.RunSentence(r))
}

// formLimits reads the tighter limits of an approval; empty fields stay.
func formLimits(c echo.Context) (l task.Limits, err error) {
	for _, f := range []struct {
		name string
		n    *int
	}{
		{"timeoutSeconds", &l.TimeoutSeconds},
		{"idleTimeoutSeconds", &l.IdleTimeoutSeconds},
		{"maxTokens", &l.MaxTokens},
		{"maxTurns", &l.MaxTurns},
	} {
		if *f.n, err = wholeNumber(c, f.name); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (s *Server) denyRun(c echo.Context) error {
	id, err := idParam(c, "id")
	if err != nil {
		return err
	}
	form := views.DecideForm{Reason: text(c, "reason")}
	if _, err := s.svc.DenyRun(formContext(c), actorOf(c), id, form.Reason); err != nil {
		return s.decideAgain(c, id, err, form)
	}
	return s.done(c, views.URL.Approvals(), "Run %d was rejected", id)
}

// decideAgain shows the review once more, with why the decision was not taken.
func (s *Server) decideAgain(c echo.Context, id task.ID, err error, form views.DecideForm) error {
	e, ok := refusal(err)
	if !ok {
		return err
	}
	form.Error = e.Message
	return s.again(c, e, views.URL.Approval(id), func(ch views.Chrome) (templ.Component, error) {
		waiting, err := s.waiting(c)
		if err != nil {
			return nil, err
		}
		return s.approvals(c, ch, waiting, id, form)
	})
}
