package handlers

import (
	"cmp"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// The pages of a pause serve the server below /scheduler, where the parameter
// id is "", and an agent below /agents/:id.

func (s *Server) pausePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	id := c.Param("id")
	if id != "" {
		if _, err := s.svc.Agent(actorFrom(c), id); err != nil {
			return nil, err
		}
	}
	return views.PausePage(ch, views.PauseModel{Agent: id}), nil
}

func (s *Server) postPause(c echo.Context) error {
	m := views.PauseModel{Agent: c.Param("id"), Reason: text(c, "reason")}
	_, err := s.svc.Pause(formContext(c), actorFrom(c), m.Agent, m.Reason)
	if err != nil {
		return s.again(c, err, views.URL.Pause(m.Agent), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
			m.Errors = renamed(ui.FieldErrorsFrom(e), "agent", "")
			return views.PausePage(ch, m), nil
		})
	}
	return s.done(c, pausePlace(m.Agent), "Paused %s", pausedName(m.Agent))
}

func (s *Server) postResume(c echo.Context) error {
	agent := c.Param("id")
	var out task.Restarted
	var err error
	if agent == "" && text(c, "restart") != "" {
		out, err = s.svc.ResumeAndRestart(formContext(c), actorFrom(c), text(c, "reason"))
	} else {
		_, err = s.svc.Resume(formContext(c), actorFrom(c), agent, text(c, "reason"))
	}
	if task.IsCode(err, task.CodeNotPaused) { // someone else was faster
		return s.done(c, pausePlace(agent), "%s is no longer paused", pausedName(agent))
	}
	if err != nil {
		return withBack(c, err, pausePlace(agent))
	}
	if len(out.Runs) > 0 {
		return s.done(c, pausePlace(agent), "Resumed Taskyard and restarted %s", ui.Count(len(out.Runs), "run", "runs"))
	}
	return s.done(c, pausePlace(agent), "Resumed %s", pausedName(agent))
}

func pausePlace(agent string) string {
	if agent == "" {
		return views.URL.Scheduler()
	}
	return views.URL.Agent(agent)
}

func pausedName(agent string) string { return cmp.Or(agent, "Taskyard") }

func (s *Server) stopPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m, err := s.stopModel(c)
	return views.StopPage(ch, m), err
}

func (s *Server) stopModel(c echo.Context) (m views.StopModel, err error) {
	st, err := s.svc.Scheduler(c.Request().Context(), actorFrom(c))
	m.Running, m.Queued = values(st.Running), len(st.Queued)
	return m, err
}

func (s *Server) postStop(c echo.Context) error {
	reason := text(c, "reason")
	out, err := s.svc.StopEverything(formContext(c), actorFrom(c), reason)
	if err != nil {
		return s.again(c, err, views.URL.StopEverything(), func(ch views.Chrome, e *task.Error) (templ.Component, error) {
			m, err := s.stopModel(c)
			m.Reason, m.Errors = reason, ui.FieldErrorsFrom(e)
			return views.StopPage(ch, m), err
		})
	}
	return s.done(c, views.URL.Scheduler(), "Stopped %s; Taskyard is paused", ui.Count(len(out.Runs), "run", "runs"))
}
