package handlers

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// checksPage shows which checks of a task apply and who must accept, and lets
// reviewers change the task's own requirements.
func (s *Server) checksPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	m, err := s.checksModel(c, id)
	if err == nil {
		m.Form.Form = views.DemandsForm(m.Task)
	}
	return views.ChecksPage(ch, m), err
}

func (s *Server) checksModel(c echo.Context, id task.ID) (m views.ChecksModel, err error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	if m.Task, err = s.svc.Task(ctx, a, id); err != nil {
		return m, err
	}
	if m.InForce, m.Policy, err = s.svc.ChecksInForce(ctx, a, id); err != nil {
		return m, err
	}
	runs, err := s.svc.CheckRuns(ctx, a, id)
	m.Last = map[string]*task.CheckRun{}
	for i := range runs {
		if r := &runs[i]; !r.Merge && m.Last[r.Name] == nil {
			m.Last[r.Name] = r
		}
	}
	m.Form.Key, m.Form.OfTask = views.NewKey(), true
	return m, err
}

// setDemands handles the form: it adds or removes a check, or saves.
func (s *Server) setDemands(c echo.Context, id task.ID) error {
	form := projectForm(c)
	status, fails, problem, key := http.StatusOK, ui.FieldErrors{}, "", c.FormValue("_key")
	if !changeRows(&form, c.FormValue("act")) {
		p, err := projectFromForm(form)
		if err == nil {
			_, err = s.svc.UpdateTask(formContext(c), actorFrom(c), id, task.Patch{Checks: &p.Checks, Policy: &p.Review, Version: form.Version})
		}
		e, refused := refusal(err)
		switch {
		case refused:
			if t, e := s.svc.Task(c.Request().Context(), actorFrom(c), id); e == nil && t.Status.Archived() { // its page has no form
				return withBack(c, task.Errorf(task.Conflict, task.CodeArchived,
					"Nothing was saved: task %d is %s, and archived tasks are read-only", id, t.Status), views.URL.Task(id))
			}
			status, fails, key = statuses[e.Kind], demandErrors(e), nextKey(c, e)
			if e.Kind == task.Conflict {
				problem = e.Message + "."
			}
		case err != nil:
			return withBack(c, err, views.URL.Checks(id))
		default:
			return s.done(c, views.URL.Checks(id), "Saved the checks and the review of #%d", id)
		}
	}
	return s.show(c, status, views.URL.Checks(id), func(ch views.Chrome) (templ.Component, error) {
		m, err := s.checksModel(c, id)
		if problem != "" && err == nil {
			form.Version = m.Task.Version
		}
		m.Form.Form, m.Form.Errors, m.Form.Changed = form, fails, problem
		m.Form.Key = cmp.Or(key, m.Form.Key)
		return views.ChecksPage(ch, m), err
	})
}

// demandErrors renames the fields of a policy to those of the form.
func demandErrors(e *task.Error) ui.FieldErrors {
	fails := ui.FieldErrors{}
	for field, text := range ui.FieldErrorsFrom(e) {
		if rest, ok := strings.CutPrefix(field, "policy."); ok {
			field = "review." + rest
		}
		fails[field] = strings.ReplaceAll(text, "policy.", "review.")
	}
	return fails
}

// runCheck runs one check again and reports its result.
func (s *Server) runCheck(c echo.Context, id task.ID) error {
	s.extendDeadlines(c.Request().Context(), task.MaxWait)
	run, err := s.svc.RunCheck(formContext(c), actorFrom(c), id, c.Param("name"))
	if task.IsCode(err, task.CodeChecksRunning) {
		return s.done(c, views.URL.Checks(id), "Check %s of #%d still runs; its outcome appears here", c.Param("name"), id)
	}
	if err != nil {
		return withBack(c, err, views.URL.Checks(id))
	}
	message := strings.ReplaceAll(string(run.Verdict), "_", " ")
	if run.ExitCode != 0 {
		message += " with exit code " + strconv.Itoa(run.ExitCode)
	}
	return s.done(c, views.URL.Checks(id), "Check %s of #%d: %s", run.Name, id, message)
}
