package views

import (
	"strconv"

	"taskyard/task"
)

// planText describes a change of a step, counted from 1.
func planText(e *task.Event) string {
	c := e.PlanChange()
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

// PlanUndo is the last change of a plan, while it can be undone.
type PlanUndo struct {
	Text string // what was done, as a sentence
	Act  string // value of the plan's form that undoes it
}

// undoWindow is how long undoing a change of the plan is offered.
const undoWindow = 2 * 60 * 1000 // milliseconds

// FindUndo returns how to undo the newest change of a task's plan, if the actor
// made it recently; events are oldest first.
func FindUndo(events []task.Event, actor string, now task.Time) *PlanUndo {
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		if !task.ArrangesPlan(e.Kind) {
			continue
		}
		c := e.PlanChange()
		switch {
		case e.Actor != actor || now-e.At > undoWindow:
		case e.Kind == task.EvStepRemoved:
			return &PlanUndo{"Step " + strconv.Itoa(c.Step+1) + " was deleted: " + c.Title, "restore " + e.ID.String()}
		case e.Kind == task.EvStepMoved:
			return &PlanUndo{"Step " + strconv.Itoa(c.From+1) + " is step " + strconv.Itoa(c.To+1) + " now", planMove(c.To, c.From, c.Title)}
		}
		return nil
	}
	return nil
}

// planMove and planAt return values of the plan's form: what, where, and the
// mark of the step's title, to detect changes by others.
func planMove(from, to int, title string) string {
	return "move " + strconv.Itoa(from) + " " + strconv.Itoa(to) + " " + task.Mark(title)
}

func planAt(act string, at int, title string) string {
	return act + " " + strconv.Itoa(at) + " " + task.Mark(title)
}
