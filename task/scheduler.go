package task

// SchedulerState is what the database and the service know about the scheduler.
type SchedulerState struct {
	Ticks      []Tick             // the newest first
	Skips      []SkippedTask      // by the last tick
	JobRecords map[string]JobInfo // by name: the last run of each job on any server
	Running    []*Run
	Queued     []*Run        // in the order in which they start
	Why        map[ID]string // by queued run, why it has not started; "" when it is next
	Woken      []WokenTask   // in the last hour
	WakeBudget int           // wakes per task and hour; 0: there are no wakes
	Claims     []ClaimedTask // the first to expire first
}

// Tick is one round of the scheduler.
type Tick struct {
	ID              ID
	At              Time
	Ended           Time   // 0: it has not ended
	Cause           string // the schedule, or the actor who requested it
	Queued, Skipped int
}

// SkippedTask is a task that the last round skipped, and why.
type SkippedTask struct {
	TaskID         ID
	Title, Owner   string
	Reason, Detail string
}

// WokenTask is a task whose owner was woken lately.
type WokenTask struct {
	TaskID       ID
	Title, Owner string
	Wakes        int
	LastAt       Time
}

// ClaimedTask is a claimed task.
type ClaimedTask struct {
	TaskID       ID
	Title, Owner string
	Claim        Claim
	Running      ID // the run of this server or a worker that holds it, or 0
}
