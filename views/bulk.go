package views

import (
	"strings"

	"taskyard/task"
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
	Errors   FieldErrors
}

// bulkActs are the acts on many tasks, in the order shown.
var bulkActs = []struct{ Act, Label, Verb, Says string }{
	{"move", "Move…", "Move", "They go into the queue of another agent. Work on them stops there."},
	{"priority", "Priority…", "Set the priority of", "A higher number comes first in its queue."},
	{"label", "Add labels…", "Label", "The labels are added to those that they have."},
	{"unlabel", "Remove labels…", "Take labels from", "Other labels stay."},
	{"start", "Start", "Start", "Drafts become active and their owners are woken."},
	{"complete", "Complete", "Complete", "They go into the history, which never changes again."},
	{"cancel", "Cancel…", "Cancel", "They go into the history, which never changes again, and their runs are stopped."},
}

// KnownBulkAct tells whether pages offer an act.
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
			return a.Verb + " " + Count(len(m.IDs), "task", "tasks")
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
		s += " " + Count(m.Below, "subtask goes", "subtasks go") + " with them."
	}
	return s
}

func (m BulkModel) kind() string {
	if m.Act == "cancel" {
		return "dan"
	}
	return "pri"
}

func (m BulkModel) ids() string {
	words := make([]string, len(m.IDs))
	for i, id := range m.IDs {
		words[i] = id.String()
	}
	return strings.Join(words, " ")
}
