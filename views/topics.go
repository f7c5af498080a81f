package views

import "taskyard/task"

// The topics of live parts, which the server publishes when something changes.
const (
	TopicApprovals = "approvals"      // a run began to wait for approval, or was decided
	TopicRuns      = "runs"           // any run changed its state
	TopicHistory   = "queues"         // a task was archived, among other changes of tasks
	TopicAgents    = "agents queues"  // a definition, or a queue's load, changed
	TopicScheduler = "scheduler"      // a tick, a job, a run in flight or queued, a pause
	TopicInbox     = "inbox"          // what waits for a person
	TopicNow       = "runs queues"    // what runs, and what was done
	TopicFrame     = "instance inbox" // what every page shows about the whole instance
)

// TopicTodo is the topic of an agent's todo list.
func TopicTodo(agent string) string { return "todo:" + agent }

// TopicRun is the topic of one run: its state, and its transcript.
func TopicRun(id task.ID) string { return "run:" + id.String() }
