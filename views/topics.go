package views

import "taskyard/task"

// The topics of live parts, as the server names them when something changes.
const (
	TopicApprovals = "approvals" // a run came to wait for approval, or was decided
	TopicRuns      = "runs"      // any run changed its state
	TopicHistory   = "history"   // a task was archived
	TopicAgents    = "agents"    // a definition or a queue's load changed
	TopicScheduler = "scheduler" // a tick, a job, a run in flight or queued
)

// TopicRun is the topic of one run: its state, and its transcript.
func TopicRun(id task.ID) string { return "run:" + id.String() }
