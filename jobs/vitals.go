package jobs

import (
	"time"

	"taskyard/task"
)

const (
	tickGrace   = 10 * time.Minute // after a missed tick
	backupGrace = time.Hour        // after the second missed backup in a row
)

// Health returns when the last tick and backup were, and which are late.
// Whatever was due before the start of the server is not late. With several
// servers, only the leader knows and can be late, because it does the work.
func (j *Jobs) Health() task.SchedulerHealth {
	p := j.plan.Load()
	v := task.SchedulerHealth{Late: map[string]string{}, Killed: j.killed.Load()}
	now := time.Now().Round(0)
	later := func(a time.Time, at task.Time) time.Time {
		if b := at.Std(); at != 0 && b.After(a) {
			return b
		}
		return a
	}
	since, leads := j.opt.Service.LeadsSince()
	if !leads {
		return v
	}
	if since.Before(j.started) {
		since = j.started
	}
	for _, info := range j.clock.infos() {
		if info.Name == task.JobTick {
			v.TickAt = info.LastAt
			due := nextTime(p.Cron, p.Location, later(since, info.LastAt))
			if !due.IsZero() && now.After(due.Add(tickGrace)) && !info.Running {
				v.Late[task.JobTick] = "the tick of " + due.Format(time.RFC3339) + " did not come"
			}
		}
	}
	if p.Backup.Cron == "" {
		return v
	}
	v.BackupAt, v.BackupSize = p.Backup.newest()
	due := nextTime(p.Backup.Cron, p.Location, later(since, v.BackupAt))
	if !due.IsZero() {
		due = nextTime(p.Backup.Cron, p.Location, due)
	}
	if !due.IsZero() && now.After(due.Add(backupGrace)) {
		v.Late[task.JobBackup] = "two scheduled backups in a row are missing, the last of " +
			due.Format(time.RFC3339) + "; the page Scheduler says why"
	}
	return v
}

// nextTime returns when a cron line next fires after a time, zero for never.
func nextTime(line string, loc *time.Location, after time.Time) time.Time {
	w, err := newWallCron(line, loc)
	if err != nil {
		return time.Time{}
	}
	return w.Next(after)
}
