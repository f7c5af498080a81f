package views

import (
	"encoding/json"

	"taskyard/task"
	"taskyard/views/ui"
)

// ChangedBy says who changed something in the meantime, and what.
func ChangedBy(e *task.Event) string {
	return ui.ActorLabel(e.Actor) + " " + EventSentence(e) + " meanwhile."
}

// FieldChangedBy says who last changed a field of a task, and to what; events
// are oldest first.
func FieldChangedBy(events []task.Event, field string) string {
	for i := len(events) - 1; i >= 0; i-- {
		if k := events[i].Kind; k != task.EvTaskUpdated && k != task.EvTaskMoved {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(events[i].Changes, &fields) == nil && fields[field] != nil {
			return ui.ActorLabel(events[i].Actor) + " changed " + fieldText(field, fields[field]) + " meanwhile."
		}
	}
	return "The " + field + " was changed in the meantime."
}

// PlanChangedBy says who last changed the plan, and how; events are oldest
// first.
func PlanChangedBy(events []task.Event) string {
	for i := len(events) - 1; i >= 0; i-- {
		if k := events[i].Kind; task.ArrangesPlan(k) || k == task.EvStepUpdated {
			return ChangedBy(&events[i])
		}
	}
	return ""
}
