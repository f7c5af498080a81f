package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
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
	m := views.SchedulerModel{
		Claims: claimRows(st), Wakes: wakeRows(st),
		WakeBudget: st.WakeBudget, Concurrency: rules.TickConcurrency, MaxParallel: rules.MaxParallel,
		Ticks: tickRows(st), InFlight: values(st.Running), Queued: queuedRows(st), Skipped: skipRows(st),
	}
	if clock := s.opt.Scheduler; clock != nil {
		m.Next, m.NextTicks = clock.NextTick(), clock.NextTicks(shownTicks)
		v := clock.Health()
		m.BackupAt, m.BackupSize = v.BackupAt, v.BackupSize
		if b := st.Jobs[task.JobBackup]; m.BackupAt == 0 && b.Error == "" { // its file is on another server
			m.BackupAt = b.LastAt
		}
		m.Enabled, m.Window, m.Jobs = m.Next != 0, clock.Window(), jobRows(clock.Jobs(), st)
	}
	return views.SchedulerPage(ch, m), nil
}

func tickRows(st service.SchedulerState) []views.TickRow {
	rows := make([]views.TickRow, len(st.Ticks))
	for i, t := range st.Ticks {
		rows[i] = views.TickRow{At: t.At, Ended: t.Ended, Queued: t.Queued, Skipped: t.Skipped}
		if task.IsUserName(t.Cause) {
			rows[i].By = t.Cause
		}
	}
	return rows
}

func queuedRows(st service.SchedulerState) []views.QueuedRow {
	rows := make([]views.QueuedRow, len(st.Queued))
	for i, r := range st.Queued {
		rows[i] = views.QueuedRow{Run: *r, Reason: st.Why[r.ID]}
	}
	return rows
}

func claimRows(st service.SchedulerState) []views.ClaimRow {
	rows := make([]views.ClaimRow, len(st.Claims))
	for i, h := range st.Claims {
		c := h.Claim
		rows[i] = views.ClaimRow{Task: h.TaskID, Title: h.Title, Holder: c.Holder, Since: c.Since, Until: c.ExpiresAt, Run: h.Running}
	}
	return rows
}

func wakeRows(st service.SchedulerState) []views.WakeRow {
	rows := make([]views.WakeRow, len(st.Woken))
	for i, w := range st.Woken {
		rows[i] = views.WakeRow{Task: w.TaskID, Title: w.Title, Owner: w.Owner, Used: w.Wakes, Last: w.LastAt}
	}
	return rows
}

func skipRows(st service.SchedulerState) []views.SkipRow {
	rows := make([]views.SkipRow, len(st.Skips))
	for i, skip := range st.Skips {
		t := task.Task{ID: skip.TaskID, Title: skip.Title, Owner: skip.Owner, Status: task.Active}
		rows[i] = views.SkipRow{Task: t, Reason: skip.Reason, Detail: skip.Detail}
	}
	return rows
}

func jobRows(jobs []task.JobInfo, st service.SchedulerState) []views.JobRow {
	rows := make([]views.JobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = views.JobRow{
			Name: j.Name, About: j.About, Running: j.Running, Schedule: j.Schedule,
			Next: j.Next, LastRun: j.LastAt, Took: j.Took, Error: j.Failure,
		}
		// Before the start, or since then on another server.
		if noted := st.Jobs[j.Name]; noted.LastAt > j.LastAt {
			rows[i].LastRun, rows[i].Took, rows[i].Error = noted.LastAt, noted.Took, noted.Error
		}
		if j.Name == task.JobTick && len(st.Ticks) > 0 && st.Ticks[0].Ended != 0 && st.Ticks[0].At > j.LastAt {
			rows[i].LastRun, rows[i].Took, rows[i].Error = st.Ticks[0].At, st.Ticks[0].Ended.Sub(st.Ticks[0].At), ""
		}
	}
	return rows
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
