package task

// TaskFilter narrows a list of open tasks. Zero fields do not narrow.
type TaskFilter struct {
	Owner       string
	Status      Status // Draft or Active
	WorkStatus  WorkStatus
	Query       string // words in title or description
	Parent      ID
	Label       string       // a label that the task has
	Project     string       // key of the project that the task is in
	CreatedBy   string       // actor
	Shown       DisplayState // how the task is drawn
	Blocked     string       // "yes": something must be done first; "no": nothing
	MinPriority *int
	Sort        TaskSort // "": queue order
	Desc        bool     // the other way round; only with Sort
	Limit       int      // 1 to 500
	After       string   // cursor of the page before
	Full        bool     // with descriptions, steps and resources
}

// DisplayState is how an open task is drawn: exactly one of these each.
type DisplayState string

// The ways.
const (
	ShownWaiting DisplayState = "waiting" // for a person
	ShownWorking DisplayState = "working" // somebody works on it
	ShownFailed  DisplayState = "failed"  // its last run failed and nothing has begun again
	ShownIdle    DisplayState = "idle"    // the rest
	ShownDraft   DisplayState = "draft"   // not active yet
)

// DisplayState returns how an open task is drawn. A claim shows before failures of
// the past: somebody works on it again.
func (t *Task) DisplayState() DisplayState {
	switch {
	case t.Status == Draft:
		return ShownDraft
	case t.WaitingFor == WaitsUser, t.WaitingFor == WaitsApproval, t.WaitingFor == WaitsReview, t.BlockersCanceled > 0:
		return ShownWaiting
	case t.WorkStatus == Working:
		return ShownWorking
	case t.Failures > 0 && t.OpenRunID == 0:
		return ShownFailed
	}
	return ShownIdle
}

// Valid reports whether s is one of the ways to draw active tasks.
func (s DisplayState) Valid() bool {
	return s == ShownWaiting || s == ShownWorking || s == ShownFailed || s == ShownIdle
}

// TaskSort is an order of a list of open tasks, other than that of queues.
type TaskSort string

// The orders.
const (
	SortID       TaskSort = "id"
	SortTitle    TaskSort = "title"
	SortOwner    TaskSort = "agent"
	SortPriority TaskSort = "priority"
	SortAge      TaskSort = "age" // the oldest first
	SortChanged  TaskSort = "changed"
)

// TaskSorts lists the orders.
var TaskSorts = []TaskSort{SortID, SortTitle, SortOwner, SortPriority, SortAge, SortChanged}

// HistoryFilter narrows the list of archived tasks.
type HistoryFilter struct {
	Owner     string
	CreatedBy string // actor
	Label     string // a label that the task had
	Project   string // key of the project that the task was in
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
	After  ID       // events with a greater id
	Limit  int      // 1 to 500
	Nouns  []string // only events of these nouns; nil: of all. Set by the service
}
