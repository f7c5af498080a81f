package task

import "time"

// JobInfo is one background job as the Scheduler page lists it.
type JobInfo struct {
	Name     string
	About    string        // what it does, in a few words
	Schedule string        // in words or cron
	Next     Time          // 0: only on demand, or off
	LastAt   Time          // 0: not yet since the start
	Took     time.Duration // of the last time
	Failure  string        // of the last time, "" when it went well
	Runs     int           // since the start
	Running  bool
}

// JobBackup is the name of the job that makes the scheduled backups.
const JobBackup = "backup"

// AlertMerge is the job of an alert about a merge that waits.
const AlertMerge = "merge"

// JobTick is the name of the job that makes the scheduled ticks.
const JobTick = "tick"

// SchedulerHealth show whether the scheduler's clock is working.
type SchedulerHealth struct {
	TickAt     Time              // the last tick since the start, 0: none
	BackupAt   Time              // the newest scheduled backup that is there, 0: none
	BackupSize int64             // its bytes
	Late       map[string]string // jobs that should have been done by now, with a sentence
	Killed     int64             // processes of lost runs that were ended, since the start
}
