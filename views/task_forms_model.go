package views

import (
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// AgentOption is an agent as a possible owner.
type AgentOption struct {
	ID       string
	Name     string
	Queue    int  // active tasks
	Invalid  bool // may own drafts only
	PullOnly bool // Taskyard never starts it
}

// label returns the text of the option: name, queue length, validity.
func (a AgentOption) label() string {
	parts := []string{a.ID, ui.Count(a.Queue, "task in its queue", "tasks in its queue")}
	if a.Invalid {
		parts = append(parts, "✗ invalid definition: drafts only")
	} else if a.PullOnly {
		parts = append(parts, "claims its own work")
	}
	return strings.Join(parts, " · ")
}

// MoveModel is the page that hands a task over.
type MoveModel struct {
	Task    *task.Task
	Agents  []AgentOption
	To      string
	Comment string
	Errors  ui.FieldErrors
}

// CancelModel is the confirmation before a task is canceled.
type CancelModel struct {
	Task     *task.Task
	Subtasks []*task.Task // open subtasks at any depth, which are canceled too; only the first
	Count    int          // number of all of them
	OpenRuns int          // runs that would be stopped
	Errors   ui.FieldErrors
}

// EditModel is the form for changing a task.
type EditModel struct {
	Task        *task.Task // current state
	Title       string
	Description string
	Owner       string
	Priority    string // as typed
	Labels      string // as typed
	Project     string // key
	Version     int64  // version that the person read
	Agents      []AgentOption
	Changed     string // changes by others since that version, or ""
	Preview     bool   // show a preview of the description
	Errors      ui.FieldErrors
}

// NewEditModel returns the form for a task.
func NewEditModel(t *task.Task, agents []AgentOption) EditModel {
	return EditModel{
		Task: t, Title: t.Title, Description: t.Description, Owner: t.Owner,
		Priority: strconv.Itoa(t.Priority), Labels: strings.Join(t.Labels, " "), Project: t.Project, Version: t.Version, Agents: agents,
	}
}

// NewTaskModel is the form for a new task.
type NewTaskModel struct {
	Title       string
	Description string
	Owner       string
	Priority    string // as typed
	Labels      string // as typed
	Project     string // key
	BlockedBy   string // as typed
	Steps       string // one per line
	Links       string // one per line: a URL or absolute path, then a label
	Draft       bool
	Follow      task.ID // the archived task that it follows, or 0
	FollowTitle string
	Take        []FollowUpLink // links of the followed task
	Preview     bool           // show a preview of the description
	Agents      []AgentOption
	Key         string // idempotency key, kept after an error
	Errors      ui.FieldErrors
}

// FollowUpLink is a link of an archived task that a follow-up can copy.
type FollowUpLink struct {
	Resource task.Resource
	On       bool
}

// StepModel is the page that edits or delegates one step.
type StepModel struct {
	Task    *task.Task
	Index   int // 0-based
	Title   string
	Details string
	Errors  ui.FieldErrors

	Sub       SubtaskEntry
	SubErrors ui.FieldErrors
	Agents    []AgentOption
	Unsaved   []UnsavedField // text typed to delegate a step that has been delegated by now
}

// SubtaskEntry contains the typed values for delegating a step.
type SubtaskEntry struct {
	Title, Owner, Description, Priority string
}

func (m StepModel) step() task.Step { return m.Task.Steps[m.Index] }

// mark returns the mark of the step that the form is based on.
func (m StepModel) mark() string { return task.Mark(m.step().Title, m.step().Details) }

// LoginModel is the sign-in page.
type LoginModel struct {
	Name  string
	Next  string // where to go afterwards
	Error string
}

// SetupModel is the page that creates the first admin.
type SetupModel struct {
	Name   string
	Token  string // of the one-time link
	Errors ui.FieldErrors
}

// priorityHint explains the number.
const priorityHint = "Higher runs first. Default 0."

func cancelLabel(subtasks int) string {
	if subtasks == 0 {
		return "Cancel this task"
	}
	return "Cancel this task and " + ui.Count(subtasks, "subtask", "subtasks")
}

func ownerHint(t *task.Task) string {
	if t.Claim != nil {
		return "To hand over work that is under way, use Move: it comes with a comment."
	}
	return ""
}
