package views

import (
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// treeShown is how many subtasks the tree shows before the rest is collapsed.
const treeShown = 8

// FamilyTree contains the relatives of a task. The lists may be incomplete; the
// counts include all.
type FamilyTree struct {
	Ancestors            []*task.Task // from the root down
	Self                 *task.Task
	Siblings             []*task.Task // without the task itself
	SiblingCount         int
	Subtasks             []*task.Task
	Open, Done, Canceled int // subtasks
}

// Total is how many subtasks there are.
func (f FamilyTree) Total() int { return f.Open + f.Done + f.Canceled }

// empty reports whether there is no family to show.
func (f FamilyTree) empty() bool { return len(f.Ancestors) == 0 && f.Total() == 0 }

func (f FamilyTree) depth() int { return len(f.Ancestors) }

// first and folded split the loaded subtasks.
func (f FamilyTree) first() []*task.Task { return f.Subtasks[:min(treeShown, len(f.Subtasks))] }

func (f FamilyTree) folded() []*task.Task { return f.Subtasks[len(f.first()):] }

// summary describes the tree in a sentence.
func (f FamilyTree) summary() string {
	var parts []string
	if n := len(f.Ancestors); n > 0 {
		parts = append(parts, ui.Count(n, "task above", "tasks above"))
	}
	if f.SiblingCount > 0 {
		parts = append(parts, ui.Count(f.SiblingCount, "sibling", "siblings"))
	}
	if f.Total() > 0 {
		s := ui.Count(f.Total(), "subtask", "subtasks")
		if f.Done > 0 {
			s += ", " + strconv.Itoa(f.Done) + " done"
		}
		if f.Canceled > 0 {
			s += ", " + strconv.Itoa(f.Canceled) + " canceled"
		}
		parts = append(parts, s)
	}
	return "Family: " + strings.Join(parts, "; ")
}

// edgeWidth, edgeBox and edgePath describe the edge of a row in the tree; depth
// is at least 1.
func edgeWidth(depth int) string { return strconv.Itoa(14 * depth) }

func edgeBox(depth int) string { return "0 0 " + edgeWidth(depth) + " 16" }

func edgePath(depth int) string {
	return "M" + strconv.Itoa(14*depth-7) + " -9V6a2 2 0 0 0 2 2h4"
}
