package handlers

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) approveRun(c echo.Context, id task.ID) error {
	form := views.DecideForm{
		Attempted: "approval", ScopeTask: c.FormValue("scope") == string(task.ScopeTask), TimeoutSeconds: c.FormValue("timeoutSeconds"),
		IdleSeconds: c.FormValue("idleTimeoutSeconds"), MaxTokens: c.FormValue("maxTokens"),
		MaxTurns: c.FormValue("maxTurns"), MaxCost: c.FormValue("maxCostUsd"),
	}
	in := service.Approve{Scope: task.ScopeOnce, Version: c.FormValue("version"), Undo: task.UndoWindow}
	if form.ScopeTask {
		in.Scope = task.ScopeTask
	}
	next, err := s.nextWaiting(c, id)
	if err != nil {
		return err
	}
	if in.Limits, err = formLimits(c); err == nil {
		_, err = s.svc.ApproveRun(formContext(c), actorFrom(c), id, in)
	}
	if err != nil {
		return s.decideAgain(c, id, err, form)
	}
	return s.done(c, next, "")
}

// formLimits parses the tighter limits of an approval; empty fields change
// nothing. Its error names every wrong field.
func formLimits(c echo.Context) (l task.Limits, err error) {
	var p task.Problems
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
			p.Add(f.name, "must be a whole number")
		}
	}
	if raw := strings.TrimSpace(c.FormValue("maxCostUsd")); raw != "" {
		if l.MaxCostUSD, err = strconv.ParseFloat(raw, 64); err != nil || l.MaxCostUSD != l.MaxCostUSD {
			p.Add("maxCostUsd", "must be a number")
		}
	}
	return l, p.Err()
}

func (s *Server) denyRun(c echo.Context, id task.ID) error {
	next, err := s.nextWaiting(c, id)
	if err != nil {
		return err
	}
	form := views.DecideForm{Reason: text(c, "reason"), Attempted: "rejection"}
	if _, err := s.svc.DenyRun(formContext(c), actorFrom(c), id, form.Reason, task.UndoWindow); err != nil {
		return s.decideAgain(c, id, err, form)
	}
	return s.done(c, next, "")
}

// nextWaiting returns the URL of the next review after that of a run.
func (s *Server) nextWaiting(c echo.Context, id task.ID) (string, error) {
	list, err := s.waiting(c)
	if err != nil {
		return "", err
	}
	next := views.URL.Approvals()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].ID == id && next != views.URL.Approvals() {
			break // the one after it
		}
		if list[i].ID != id {
			next = views.URL.Approval(list[i].ID)
		}
	}
	return next, nil
}

// decideAgain shows the review again, with why the decision failed.
func (s *Server) decideAgain(c echo.Context, id task.ID, err error, form views.DecideForm) error {
	return s.again(c, err, views.URL.Approval(id), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		form.Late = e.Code == task.CodeRunDecided || e.Code == task.CodeRunEnded
		form.Changed = e.Code == task.CodeRunChanged
		if form.Late {
			form.Unsaved = unsavedText(c)
		}
		if e.Kind == task.Invalid {
			form.Errors = ui.FieldErrors{}
			for _, f := range e.AllFields() {
				form.Errors[strings.TrimPrefix(f.Field, "limits.")] = f.Message
			}
		} else {
			form.Error = e.Message
		}
		waiting, err := s.waiting(c)
		if err != nil {
			return nil, err
		}
		return s.approvals(c, ch, waiting, id, form)
	})
}

// approveMany approves the selected read-only runs; those that were decided or
// changed in the meantime are reported.
func (s *Server) approveMany(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	var list []service.Reviewed
	var skipped []task.Skipped
	for _, v := range form["run"] {
		raw, version, _ := strings.Cut(v, ":")
		id, err := task.ParseID(raw)
		if err != nil {
			return task.FieldErrorf("run", "%s", err)
		}
		if r, err := s.svc.Run(c.Request().Context(), actorFrom(c), id); err == nil && s.unenforced(r) != "" {
			skipped = append(skipped, task.Skipped{Run: id, Reason: s.unenforced(r)})
			continue
		}
		list = append(list, service.Reviewed{Run: id, Version: version})
	}
	var d task.Decided
	if len(list) > 0 || len(skipped) == 0 {
		if d, err = s.svc.ApproveMany(formContext(c), actorFrom(c), list, task.UndoWindow); err != nil {
			return withBack(c, err, views.URL.Approvals())
		}
	}
	d.Skipped = append(d.Skipped, skipped...)
	return s.done(c, views.URL.Approvals(), "%s", skippedText(len(d.Done), "approved", d.Skipped))
}

// skippedText says which runs a bulk action skipped; "" if none.
func skippedText(done int, what string, list []task.Skipped) string {
	if len(list) == 0 {
		return ""
	}
	words := ui.Count(done, "run", "runs") + " " + what + ", " + strconv.Itoa(len(list)) + " skipped."
	for _, sk := range list[:min(len(list), 3)] {
		words += " " + sk.Reason + "."
	}
	return words
}

// undoDecisions undoes decisions that have not taken effect.
func (s *Server) undoDecisions(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	var ids []task.ID
	for _, raw := range form["run"] {
		id, err := task.ParseID(raw)
		if err != nil {
			return task.FieldErrorf("run", "%s", err)
		}
		ids = append(ids, id)
	}
	d, err := s.svc.UndoDecisions(formContext(c), actorFrom(c), ids)
	if errorKind(err) == task.Conflict && len(ids) == 1 {
		return s.decideAgain(c, ids[0], err, views.DecideForm{Attempted: "undo"})
	}
	if err != nil {
		return withBack(c, err, views.URL.Approvals())
	}
	to := views.URL.Approvals()
	if len(d.Done) == 1 {
		to = views.URL.Approval(d.Done[0])
	}
	if words := skippedText(len(d.Done), "wait again", d.Skipped); words != "" {
		return s.done(c, to, "%s", words)
	}
	return s.done(c, to, "Undone. %s waiting again", ui.Count(len(d.Done), "run is", "runs are"))
}
