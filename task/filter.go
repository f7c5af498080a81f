package task

// TaskFilter narrows a list of open tasks. Zero fields do not narrow.
type TaskFilter struct {
	Owner       string
	Status      Status // Draft or Active
	WorkStatus  WorkStatus
	Query       string // words in title or description
	Parent      ID
	Label       string // a label that the task has
	MinPriority *int
	Limit       int    // 1 to 500
	After       string // cursor of the page before
	Full        bool   // with descriptions, steps and resources
}

// HistoryFilter narrows the list of archived tasks.
type HistoryFilter struct {
	Owner     string
	CreatedBy string // actor
	Label     string // a label that the task had
	Status    Status // Done or Canceled
	Query     string // full text
	From      Time   // archived at or after
	To        Time   // archived before
	Limit     int    // 1 to 200
	Before    string // cursor of the page before
}

// RunFilter narrows a list of runs, newest first.
type RunFilter struct {
	Status RunStatus
	Phase  Phase
	Agent  string
	TaskID ID
	From   Time // ended at or after
	To     Time // ended before
	Limit  int  // 1 to 200
	Before ID   // runs with a smaller id
}

// EventFilter narrows the log, oldest first.
type EventFilter struct {
	TaskID ID
	After  ID  // events with a greater id
	Limit  int // 1 to 500
}
