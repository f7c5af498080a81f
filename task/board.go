package task

// BoardColumn is the queue of one agent on the board.
type BoardColumn struct {
	Agent   string
	Invalid bool // its definition is invalid or deleted
	Running int  // active runs
	Slots   int  // maximum of parallel runs; 0: Taskyard never starts it
	LastRun Time // end of its last run
	Groups  []BoardGroup
	Cut     bool // more tasks match the filter than were read
}

// BoardGroup is the tasks of a column with the same state.
type BoardGroup struct {
	Shown DisplayState
	Cards []BoardCard
	More  int // tasks without a card
}

// BoardCard is one task on the board.
type BoardCard struct {
	Task     *Task
	Activity string // what its run is doing, if known
	Reason   string // why it does not run, if a few words are enough
}

// Count returns how many tasks with a state the column has, with or without a
// card.
func (c BoardColumn) Count(s DisplayState) int {
	for _, g := range c.Groups {
		if g.Shown == s {
			return len(g.Cards) + g.More
		}
	}
	return 0
}

// Total returns how many tasks the column has, with or without a card.
func (c BoardColumn) Total() (n int) {
	for _, g := range c.Groups {
		n += len(g.Cards) + g.More
	}
	return n
}

// DayStats is the activity of the last hours, and the cost of today.
type DayStats struct {
	Hours  []StatRow // only hours with activity
	Today  Usage     // of the instance, since 00:00 UTC
	Budget Budget    // what a day may use; 0: no limit
}

// BoardDay is what the tiles above the board show.
type BoardDay struct {
	DayStats                // of the last 24 hours, including the current one
	Depths   map[Time]Depth // by the start of the hour, only hours with a measurement
	Done24h  int
	// MedianRunMs is the median duration of the last 100 completed runs, 0 for
	// none.
	MedianRunMs int64
	Waiting     int  // active tasks without a worker
	OldestAt    Time // creation of the oldest of them, 0 for none
}
