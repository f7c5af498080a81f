package views

import (
	"taskyard/task"
	"taskyard/views/ui"
)

// BulkModel is the question before one act on many tasks.
type BulkModel struct {
	Act      string // as in bulkActs
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

// bulkActs are the acts on many tasks, in the order shown.
var bulkActs = []struct{ Act, Label, Verb, Says string }{
	{"move", "Move…", "Move", "Moves them and stops current work."},
	{"priority", "Priority…", "Set the priority of", "Higher runs first. Default 0."},
	{"label", "Add labels…", "Label", "Adds to existing labels."},
	{"unlabel", "Remove labels…", "Remove labels from", "Keeps other labels."},
	{"start", "Start", "Start", "Drafts become active and their agents can start."},
	{"run", "Run now", "Run", "A run of each is made at once; earlier failures no longer count."},
	{"complete", "Complete", "Complete", "They are archived; archived tasks are read-only."},
	{"cancel", "Cancel…", "Cancel", "They are archived and their runs are stopped; archived tasks are read-only."},
}

// KnownBulkAct reports whether pages offer an act.
func KnownBulkAct(act string) bool {
	for _, a := range bulkActs {
		if a.Act == act {
			return true
		}
	}
	return false
}

func (m BulkModel) title() string {
	for _, a := range bulkActs {
		if a.Act == m.Act {
			return a.Verb + " " + ui.Count(len(m.IDs), "task", "tasks")
		}
	}
	return "Change tasks"
}

func (m BulkModel) says() string {
	s := ""
	for _, a := range bulkActs {
		if a.Act == m.Act {
			s = a.Says
		}
	}
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
