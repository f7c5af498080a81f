package handlers

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// examineTime bounds how long a page waits for the examination of repositories.
const examineTime = 2 * time.Second

func (s *Server) projectsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	list, err := s.svc.Projects(ctx, a)
	if err != nil {
		return nil, err
	}
	look, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	rows := make([]views.ProjectRow, len(list))
	for i, p := range list {
		rows[i] = views.ProjectRow{Project: p.Project, OpenTasks: p.OpenTasks, Review: p.InReview, Merge: p.InMerge}
		if ch.CanAdmin && p.Repository != "" && !p.Archived && look.Err() == nil {
			rows[i].Findings = s.repositoryFindings(look, a, *p.Project)
		}
	}
	return views.ProjectsPage(ch, rows), nil
}

// repositoryFindings examines the repository of a project; an error that
// prevents it is also a finding.
func (s *Server) repositoryFindings(ctx context.Context, a task.Actor, p task.Project) []task.Finding {
	list, err := s.svc.ExamineProject(ctx, a, p)
	if e, ok := knownError(err); ok {
		return []task.Finding{{Level: task.LevelWarning, Message: e.Message}}
	}
	return list
}

func (s *Server) newProjectPage(_ echo.Context, ch views.Chrome) (templ.Component, error) {
	return views.ProjectPage(ch, views.ProjectModel{New: true, Key: views.NewKey(), Form: views.ProjectForm{
		Approvals: "1", Method: string(task.MergeSquash), Merge: true,
	}}), nil
}

func (s *Server) projectPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	p, err := s.svc.Project(ctx, a, c.Param("key"))
	if err != nil {
		return nil, err
	}
	m := views.ProjectModel{Form: views.NewProjectForm(p), Archived: p.Archived, Key: views.NewKey()}
	if ch.CanAdmin && p.Repository != "" {
		m.Findings = s.repositoryFindings(ctx, a, *p)
	}
	return views.ProjectPage(ch, m), nil
}

func (s *Server) createProject(c echo.Context) error {
	m := views.ProjectModel{New: true, Form: projectForm(c), Key: c.FormValue("_key")}
	return s.saveProject(c, m, false, s.svc.CreateProject)
}

func (s *Server) updateProject(c echo.Context) error {
	before, err := s.svc.Project(c.Request().Context(), actorFrom(c), c.Param("key"))
	if err != nil {
		return err
	}
	m := views.ProjectModel{Form: projectForm(c), Archived: before.Archived, Key: c.FormValue("_key")}
	m.Form.Key = before.Key
	return s.saveProject(c, m, before.Archived, func(ctx context.Context, a task.Actor, p task.Project) (*task.Project, error) {
		return s.svc.UpdateProject(ctx, a, p, m.Form.Version)
	})
}

// saveProject handles the form of a project: it adds or removes a check,
// examines the repository, or saves.
func (s *Server) saveProject(c echo.Context, m views.ProjectModel, archived bool,
	save func(context.Context, task.Actor, task.Project) (*task.Project, error),
) error {
	if act := c.FormValue("act"); changeRows(&m.Form, act) {
		return s.showProject(c, m, http.StatusOK)
	}
	p, err := projectFromForm(m.Form)
	p.Archived = archived
	if c.FormValue("act") == "examine" { // regardless of other errors
		m.Findings, err = s.svc.ExamineProject(c.Request().Context(), actorFrom(c), task.Project{
			Key: "checked", Repository: p.Repository, DefaultBranch: p.DefaultBranch, BranchPrefix: p.BranchPrefix, Merge: repositoryMerge(p.Merge),
		})
		if m.Examined = true; err == nil {
			return s.showProject(c, m, http.StatusOK)
		}
	}
	var saved *task.Project
	if err == nil {
		saved, err = save(formContext(c), actorFrom(c), p)
	}
	e, refused := refusal(err)
	switch {
	case refused && e.Code == task.CodeStaleProject:
		now, by, err := s.svc.ProjectVersion(c.Request().Context(), actorFrom(c), m.Form.Key)
		if err != nil {
			return err
		}
		m.Form.Version, m.Changed = now, cmp.Or(ui.ActorLabel(by), "Someone else")+" has changed this project."
		return s.showProject(c, m, statuses[e.Kind])
	case refused:
		m.Errors, m.Key = ui.FieldErrorsFrom(e), nextKey(c, e)
		if p.Repository != "" && m.Errors["repository"] != "" {
			m.Findings = s.repositoryFindings(c.Request().Context(), actorFrom(c), p)
		}
		return s.showProject(c, m, statuses[e.Kind])
	case err != nil:
		return err
	}
	return s.done(c, views.URL.Project(saved.Key), "Saved the project %s", saved.Key)
}

// repositoryMerge returns the merge settings that concern the repository.
func repositoryMerge(m *task.Merge) *task.Merge {
	if m == nil {
		return nil
	}
	return &task.Merge{Into: m.Into, Push: m.Push}
}

// showProject shows the form again as it was sent.
func (s *Server) showProject(c echo.Context, m views.ProjectModel, status int) error {
	page := views.URL.NewProject()
	if !m.New {
		page = views.URL.Project(m.Form.Key)
	}
	return s.show(c, status, page, func(ch views.Chrome) (templ.Component, error) { return views.ProjectPage(ch, m), nil })
}

func (s *Server) archiveProject(c echo.Context) error { return s.setArchived(c, true) }
func (s *Server) restoreProject(c echo.Context) error { return s.setArchived(c, false) }

func (s *Server) setArchived(c echo.Context, archived bool) error {
	a, key := actorFrom(c), c.Param("key")
	p, err := s.svc.Project(c.Request().Context(), a, key)
	if err != nil {
		return err
	}
	p.Archived = archived
	if _, err := s.svc.UpdateProject(formContext(c), a, *p, p.Version); err != nil {
		return withBack(c, err, views.URL.Project(key))
	}
	word, back := "Archived", "restore"
	if !archived {
		word, back = "Restored", "archive"
	}
	if c.FormValue("undo") == "" {
		undoable(c, views.URL.ProjectAct(key, back))
	}
	return s.done(c, views.URL.Projects(), "%s the project %s", word, key)
}
