package task

import "time"

// JobInfo is one background job as the Scheduler page lists it.
type JobInfo struct {
	Name     string
	About    string        // what it does, in a few words
	Schedule string        // in words or cron
	Next     Time          // 0: on demand alone, or off
	LastAt   Time          // 0: not yet since the start
	Took     time.Duration // of the last time
	Failure  string        // of the last time, "" when it went well
	Runs     int           // since the start
	Running  bool
}
