package task

import (
	"fmt"
	"slices"
)

// Status is the stored state of a task.
type Status string

// The four states of a task.
const (
	Draft    Status = "draft"    // visible, never run
	Active   Status = "active"   // in the owner's queue
	Done     Status = "done"     // history
	Canceled Status = "canceled" // history
)

// Statuses lists every status.
var Statuses = []Status{Draft, Active, Done, Canceled}

var taskMoves = map[Status][]Status{
	Draft:  {Active, Canceled},
	Active: {Done, Canceled},
}

// CanMove reports whether a task may go from s to next.
func (s Status) CanMove(next Status) bool { return slices.Contains(taskMoves[s], next) }

// Archived reports whether the task is history.
func (s Status) Archived() bool { return s == Done || s == Canceled }

// MoveErr returns nil when s may become next, else a Conflict that names both.
func (s Status) MoveErr(id ID, next Status) error {
	if s.CanMove(next) {
		return nil
	}
	if s.Archived() {
		return Errorf(Conflict, CodeArchived, "Task %d is %s and cannot become %s: archived tasks are read-only; create a follow-up",
			id, s, next)
	}
	if s == next {
		return Errorf(Conflict, CodeTransition, "Task %d is already %s", id, s)
	}
	return Errorf(Conflict, CodeTransition, "Task %d cannot go from %s to %s", id, s, next)
}

// WorkStatus is the derived state of a task: whether it is being worked on.
type WorkStatus string

// The work states; drafts and canceled tasks have none.
const (
	Idle     WorkStatus = "idle"     // active without a live claim
	Working  WorkStatus = "working"  // active with a live claim
	Complete WorkStatus = "complete" // done
)

// WaitingFor says what an active task is waiting for.
type WaitingFor string

// What a task can wait for.
const (
	WaitsUser     WaitingFor = "user"     // a question to the user is open
	WaitsApproval WaitingFor = "approval" // a run waits for approval, or for a permission
	WaitsTasks    WaitingFor = "tasks"    // a task in blockedBy is not done
	WaitsReview   WaitingFor = "review"   // people decide on its result
	WaitsMerge    WaitingFor = "merge"    // its accepted result is on its way into the target branch
)

// ParseStatus parses a word of either vocabulary: a Status, or a WorkStatus
// that names an action (working claims, idle releases, complete completes).
func ParseStatus(s string) (Status, WorkStatus, error) {
	switch s {
	case string(Draft), string(Active), string(Done), string(Canceled):
		return Status(s), "", nil
	case string(Idle), string(Working), string(Complete):
		return "", WorkStatus(s), nil
	}
	return "", "", fmt.Errorf("unknown status %q: valid values are draft, active, done, canceled, idle, working, complete", s)
}
