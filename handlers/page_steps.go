package handlers

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) stepPage(c echo.Context, ch views.Chrome, t *task.Task) (templ.Component, error) {
	m, err := s.stepModel(c, t)
	return views.StepPage(ch, m), err
}

func (s *Server) stepModel(c echo.Context, t *task.Task) (views.StepModel, error) {
	n, err := index(c)
	if err != nil {
		return views.StepModel{}, err
	}
	if n >= len(t.Steps) {
		return views.StepModel{}, task.Errorf(task.NotFound, task.CodeNotFound, "Task %d has no step %d", t.ID, n+1)
	}
	agents, err := s.agentOptions(c)
	st := t.Steps[n]
	return views.StepModel{
		Task: t, Index: n, Title: st.Title, Details: st.Details, Agents: agents,
		Sub: views.SubtaskEntry{Title: st.Title, Description: st.Details, Priority: strconv.Itoa(t.Priority)},
	}, err
}

// updateStep handles both forms of a step: the checkbox, and title and details.
func (s *Server) updateStep(c echo.Context, t *task.Task) error {
	m, err := s.stepModel(c, t)
	if err != nil {
		return err
	}
	ctx, a := formContext(c), actorFrom(c)
	if tick := c.FormValue("done"); tick != "" {
		done := tick == "true"
		_, err := s.svc.EditStep(ctx, a, t.ID, m.Index, task.StepSeen{Title: c.FormValue("seen")}, task.StepPatch{Done: &done})
		if err != nil {
			return s.taskAgain(c, t.ID, s.withPlanChange(c, t.ID, err), views.TaskEntries{})
		}
		return s.done(c, views.URL.Task(t.ID), "Step %d is %s", m.Index+1, doneText(done))
	}
	m.Title, m.Details = c.FormValue("title"), text(c, "details")
	_, err = s.svc.EditStep(ctx, a, t.ID, m.Index, task.StepSeen{Text: cmp.Or(c.FormValue("was"), c.FormValue("text"))},
		task.StepPatch{Title: &m.Title, Details: &m.Details})
	if c.FormValue("inline") != "" {
		return s.answerInlineStep(c, m, err)
	}
	m.Errors = fieldErrors(err)
	return s.stepDone(c, m, err, fmt.Sprintf("Saved step %d", m.Index+1))
}

// answerInlineStep answers the form of a step within the plan.
func (s *Server) answerInlineStep(c echo.Context, m views.StepModel, err error) error {
	if err != nil {
		typed := views.TaskEntries{StepAt: m.Index + 1, StepTitle: m.Title, StepDetails: m.Details, Errors: ui.FieldErrors{}}
		return s.taskAgain(c, m.Task.ID, s.withPlanChange(c, m.Task.ID, err), typed)
	}
	return s.done(c, views.URL.Task(m.Task.ID)+stepAnchor(m.Index), "Saved step %d", m.Index+1)
}

func stepAnchor(at int) string { return "#step-" + strconv.Itoa(at) }

func doneText(done bool) string {
	if done {
		return "done"
	}
	return "open again"
}

func (s *Server) createSubtask(c echo.Context, t *task.Task) error {
	m, err := s.stepModel(c, t)
	if err != nil {
		return err
	}
	m.Sub = views.SubtaskEntry{
		Title: c.FormValue("title"), Owner: c.FormValue("owner"),
		Description: text(c, "description"), Priority: c.FormValue("priority"),
	}
	prio, err := wholeNumber(c, "priority")
	var sub *task.Task
	if err == nil {
		sub, err = s.svc.CreateSubtask(formContext(c), actorFrom(c), t.ID, m.Index,
			task.New{Title: m.Sub.Title, Owner: m.Sub.Owner, Description: m.Sub.Description, Priority: prio})
	}
	message := ""
	if err == nil {
		message = fmt.Sprintf("Delegated step %d as #%d", m.Index+1, sub.ID)
	}
	m.SubErrors = fieldErrors(err)
	return s.stepDone(c, m, err, message)
}

// stepDone answers a form of the step's page: back to the task, or the page
// again with what m says about the form.
func (s *Server) stepDone(c echo.Context, m views.StepModel, err error, message string) error {
	if err == nil {
		return s.done(c, views.URL.Task(m.Task.ID), "%s", message)
	}
	err = s.withPlanChange(c, m.Task.ID, err)
	return s.again(c, err, views.URL.StepEdit(m.Task.ID, m.Index), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
		if e.Kind == task.Conflict { // the form may no longer exist
			if e.Code == task.CodeStaleVersion {
				e.Message += " What you typed is still there; saving again replaces it."
			}
			m.Errors, m.SubErrors = ui.FieldErrorsFrom(e), nil
			if m.Task.Steps[m.Index].TaskID != 0 && m.Sub.Owner != "" {
				m.Unsaved = unsavedText(c)
			}
		}
		return views.StepPage(ch, m), nil
	})
}
