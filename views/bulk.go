package views

import (
	"taskyard/task"
	"taskyard/views/ui"
)

// BulkModel is the confirmation of a bulk action on tasks.
type BulkModel struct {
	Act      string // see bulkActs
	IDs      []task.ID
	Tasks    []*task.Task // the first of them
	Below    int          // subtasks that are canceled with them
	Back     string
	Agents   []AgentOption
	To       string
	Text     string
	Priority string
	Labels   string
	Errors   ui.FieldErrors
}

// bulkAct is a bulk action on tasks.
type bulkAct struct{ Act, Label, Verb, Effect string }

// bulkActs are the bulk actions on tasks, in display order.
var bulkActs = []bulkAct{
	{"move", "Move…", "Move", "Moves them and stops current work."},
	{"priority", "Priority…", "Set the priority of", "Higher runs first. Default 0."},
	{"label", "Add labels…", "Label", "Adds to existing labels."},
	{"unlabel", "Remove labels…", "Remove labels from", "Keeps other labels."},
	{"start", "Start", "Start", "Drafts become active and their agents can start."},
	{"run", "Run now", "Run", "Starts a run of each now; earlier failures no longer count."},
	{"complete", "Complete", "Complete", "They are archived; archived tasks are read-only."},
	{"cancel", "Cancel…", "Cancel", "They are archived and their runs are stopped; archived tasks are read-only."},
}

// findBulkAct returns a bulk action by name, or the zero one, whose Act is "".
func findBulkAct(name string) (act bulkAct) {
	for _, a := range bulkActs {
		if a.Act == name {
			act = a
		}
	}
	return act
}

// KnownBulkAct reports whether a bulk action exists.
func KnownBulkAct(act string) bool { return findBulkAct(act).Act != "" }

func (m BulkModel) title() string {
	return findBulkAct(m.Act).Verb + " " + ui.Count(len(m.IDs), "task", "tasks")
}

// effect describes the effect of the action.
func (m BulkModel) effect() string {
	s := findBulkAct(m.Act).Effect
	if m.Below > 0 {
		s += " " + ui.Count(m.Below, "subtask goes", "subtasks go") + " with them."
	}
	return s
}

func (m BulkModel) kind() string {
	if m.Act == "cancel" {
		return "danger"
	}
	return "primary"
}

func (m BulkModel) ids() string { return task.JoinIDs(m.IDs, " ") }
