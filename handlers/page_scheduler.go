package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

func (s *Server) schedulerPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	st, err := s.svc.Scheduler(c.Request().Context(), actorOf(c))
	if err != nil {
		return nil, err
	}
	unmanned, err := s.svc.Unmanned(actorOf(c))
	if err != nil {
		return nil, err
	}
	m := views.SchedulerModel{
		Unmanned: unmanned, Concurrency: s.opt.Rules.TickConcurrency, MaxParallel: s.opt.Rules.MaxParallel,
		Ticks: tickRows(st), InFlight: values(st.Running), Queued: values(st.Queued), Skipped: skipRows(st),
	}
	if clock := s.opt.Scheduler; clock != nil {
		m.Next = clock.NextTick()
		m.Enabled, m.Window, m.Jobs = m.Next != 0, clock.Window(), jobRows(clock.Jobs(), st)
	}
	return views.SchedulerPage(ch, m), nil
}

func tickRows(st service.SchedulerState) []views.TickRow {
	rows := make([]views.TickRow, len(st.Ticks))
	for i, t := range st.Ticks {
		rows[i] = views.TickRow{At: t.At, Queued: t.Queued, Skipped: t.Skipped}
		if task.IsUserName(t.Cause) {
			rows[i].By = t.Cause
		}
	}
	return rows
}

func skipRows(st service.SchedulerState) []views.SkipRow {
	rows := make([]views.SkipRow, len(st.Skips))
	for i, k := range st.Skips {
		t := task.Task{ID: k.TaskID, Title: k.Title, Owner: k.Owner, Status: task.Active}
		rows[i] = views.SkipRow{Task: t, Reason: k.Reason, Detail: k.Detail}
	}
	return rows
}

func jobRows(jobs []task.JobInfo, st service.SchedulerState) []views.JobRow {
	rows := make([]views.JobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = views.JobRow{Name: j.Name, About: j.About, Running: j.Running, Schedule: j.Schedule, Next: j.Next, LastRun: j.LastAt, Took: j.Took, Error: j.Failure}
		if noted := st.Jobs[j.Name]; j.LastAt == 0 { // not since the start, but before
			rows[i].LastRun, rows[i].Took, rows[i].Error = noted.LastAt, noted.Took, noted.Error
		}
	}
	return rows
}

func (s *Server) tickNow(c echo.Context) error {
	res, err := s.svc.Tick(c.Request().Context(), actorOf(c).Name)
	if err != nil {
		return err
	}
	return s.done(c, views.URL.Scheduler(), "Tick: %s queued, %d skipped", views.Count(res.Queued, "run", "runs"), res.Skipped)
}

func (s *Server) runJob(c echo.Context) error {
	name := c.Param("name")
	if s.opt.Scheduler == nil {
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "No clock turns in this server")
	}
	if err := s.opt.Scheduler.RunJob(name); err != nil {
		return withBack(c, err, views.URL.Scheduler())
	}
	return s.done(c, views.URL.Scheduler(), "Job %s runs now", name)
}
