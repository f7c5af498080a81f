package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// shownTicks is how many upcoming ticks the page lists.
const shownTicks = 5

func (s *Server) schedulerPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	st, err := s.svc.Scheduler(c.Request().Context(), actorFrom(c))
	if err != nil {
		return nil, err
	}
	rules := s.svc.Rules()
	m := views.SchedulerModel{SchedulerState: st, Concurrency: rules.TickConcurrency, MaxParallel: rules.MaxParallel}
	if clock := s.opt.Scheduler; clock != nil {
		m.Next, m.NextTicks = clock.NextTick(), clock.NextTicks(shownTicks)
		v := clock.Health()
		m.BackupAt, m.BackupSize = v.BackupAt, v.BackupSize
		if b := st.JobRecords[task.JobBackup]; m.BackupAt == 0 && b.Failure == "" { // its file is on another server
			m.BackupAt = b.LastAt
		}
		m.Enabled, m.Window, m.Jobs = m.Next != 0, clock.Window(), clock.Jobs()
	}
	for i := range m.Jobs {
		j := &m.Jobs[i]
		// Before the start, or since then on another server.
		if noted := st.JobRecords[j.Name]; noted.LastAt > j.LastAt {
			j.LastAt, j.Took, j.Failure = noted.LastAt, noted.Took, noted.Failure
		}
		if j.Name == task.JobTick && len(st.Ticks) > 0 && st.Ticks[0].Ended != 0 && st.Ticks[0].At > j.LastAt {
			j.LastAt, j.Took, j.Failure = st.Ticks[0].At, st.Ticks[0].Ended.Sub(st.Ticks[0].At), ""
		}
	}
	return views.SchedulerPage(ch, m), nil
}

func (s *Server) tickNow(c echo.Context) error {
	res, err := s.svc.Tick(c.Request().Context(), actorFrom(c).Name)
	if err != nil {
		return err
	}
	return s.done(c, views.URL.Scheduler(), "Tick: %s queued, %d skipped", ui.Count(res.Queued, "run", "runs"), res.Skipped)
}

func (s *Server) runJob(c echo.Context) error {
	name := c.Param("name")
	if s.opt.Scheduler == nil {
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The scheduler isn't running on this server")
	}
	if err := s.opt.Scheduler.RunJob(name); err != nil {
		return withBack(c, err, views.URL.Scheduler())
	}
	return s.done(c, views.URL.Scheduler(), "Job %s runs now", name)
}
