package views

import (
	"encoding/json"
	"strconv"

	"taskyard/task"
)

// planChange is what an event says of a change of a plan; indexes are 0-based.
type planChange struct {
	Step    int     `json:"step"`
	From    int     `json:"from"`
	To      int     `json:"to"`
	Title   string  `json:"title"`
	Details string  `json:"details"`
	Done    bool    `json:"done"`
	Subtask task.ID `json:"subtask"`
}

func planChangeOf(e *task.Event) (c planChange) {
	_ = json.Unmarshal(e.Changes, &c) // our own writing; nothing at worst
	return c
}

// planText says what became of a step, counted from 1 as people do.
func planText(e *task.Event) string {
	c := planChangeOf(e)
	n := "step " + strconv.Itoa(c.Step+1)
	switch e.Kind {
	case task.EvStepMoved:
		return "step " + strconv.Itoa(c.From+1) + " to place " + strconv.Itoa(c.To+1) + ": " + c.Title
	case task.EvStepLinked:
		return n + " to #" + c.Subtask.String()
	case task.EvStepUnlinked:
		return n + " from #" + c.Subtask.String()
	}
	return n + ": " + c.Title
}

// Undo is the last change of a plan, as long as it can be taken back.
type Undo struct {
	Text string // what was done, a sentence
	Act  string // the act of the plan's form that takes it back
}

// planKinds are the events after which an older change of the plan cannot be
// taken back by its place any more.
var planKinds = map[string]bool{
	task.EvStepAdded: true, task.EvStepRemoved: true, task.EvStepMoved: true, task.EvStepLinked: true, task.EvStepUnlinked: true,
	task.EvStepsReplaced: true, task.EvSubtaskCreated: true,
}

// undoFor is how long a change of the plan is offered to be taken back.
const undoFor = 2 * 60 * 1000 // milliseconds

// UndoOf returns how the newest change of a task's plan is taken back, if the
// actor made it a short while ago; events are oldest first.
func UndoOf(events []task.Event, actor string, now task.Time) *Undo {
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		if !planKinds[e.Kind] {
			continue
		}
		c := planChangeOf(e)
		switch {
		case e.Actor != actor || now-e.At > undoFor:
		case e.Kind == task.EvStepRemoved:
			return &Undo{"Step " + strconv.Itoa(c.Step+1) + " was deleted: " + c.Title, "restore " + e.ID.String()}
		case e.Kind == task.EvStepMoved:
			return &Undo{"Step " + strconv.Itoa(c.From+1) + " is step " + strconv.Itoa(c.To+1) + " now", planMove(c.To, c.From, c.Title)}
		}
		return nil
	}
	return nil
}

// RemovedStep returns the step that an event took out of the plan, and where
// it stood.
func RemovedStep(e *task.Event) (task.Step, int) {
	c := planChangeOf(e)
	return task.Step{Title: c.Title, Details: c.Details, Done: c.Done}, c.Step
}

// planMove and planAt are acts of the plan's form: what, where, and the mark
// of the step's title, by which a change by somebody else is noticed.
func planMove(from, to int, title string) string {
	return "move " + strconv.Itoa(from) + " " + strconv.Itoa(to) + " " + task.Mark(title)
}

func planAt(act string, at int, title string) string {
	return act + " " + strconv.Itoa(at) + " " + task.Mark(title)
}
