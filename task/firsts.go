package task

// Firsts is what has happened on an instance for the first time.
type Firsts struct {
	New      bool // it has at most NewTasks tasks so far
	Task     bool // a task was created
	Worked   bool // an agent claimed a task, or a run of one started
	Decided  bool // a person decided whether a run may start, or call a tool
	Answered bool // a person answered an agent
}

// NewTasks is how many tasks a new instance has at most.
const NewTasks = 30
