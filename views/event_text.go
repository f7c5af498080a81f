package views

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"taskyard/task"
)

// maxChange bounds the characters of a changed value.
const maxChange = 60

// changeText describes the changed fields of an event: "priority 0 → 5, title".
// For long values, it has only the names.
func changeText(e *task.Event) string {
	switch e.Kind {
	case task.EvBlockersSet, task.EvBlockerDone, task.EvBlockerLost:
		return blockerText(e.Changes)
	case task.EvProjectCreated, task.EvProjectUpdated, task.EvChecksFailed, task.EvCheckRun, task.EvResultCreated, task.EvResultAccepted,
		task.EvResultChanges, task.EvResultVoted, task.EvResultReminded, task.EvReviewReplied, task.EvMergeQueued, task.EvMergeDone,
		task.EvMergeFailed:
		return resultText(e.Changes)
	case task.EvSubtaskCreated:
		return subtaskText(e.Changes)
	case task.EvStepAdded, task.EvStepRemoved, task.EvStepMoved, task.EvStepLinked, task.EvStepUnlinked:
		return planText(e)
	case task.EvTaskUpdated, task.EvTaskMoved, task.EvTaskClaimed, task.EvStepUpdated, task.EvResourceAdded, task.EvResourceGone,
		task.EvSettings:
	default:
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(e.Changes, &fields) != nil {
		return ""
	}
	if e.Kind == task.EvStepUpdated {
		return stepText(fields)
	}
	var parts []string
	for name, raw := range fields {
		parts = append(parts, fieldText(name, raw))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func fieldText(name string, raw json.RawMessage) string {
	var pair []any
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		before, after := valueText(pair[0]), valueText(pair[1])
		if after == "" {
			return name
		}
		if before == "" {
			return name + " → " + after
		}
		return name + " " + before + " → " + after
	}
	var one any
	if json.Unmarshal(raw, &one) == nil {
		if v := valueText(one); v != "" {
			return name + " " + v
		}
	}
	return name
}

// valueText returns a short value as text, and "" if it is long or has parts.
func valueText(v any) string {
	s := ""
	switch v := v.(type) {
	case string:
		s = v
	case []any:
		s = listText(v)
	case float64, bool:
		b, _ := json.Marshal(v) // cannot fail
		s = string(b)
	}
	if utf8.RuneCountInString(s) > maxChange || strings.ContainsAny(s, "\r\n") {
		return ""
	}
	return s
}

// stepText describes which step changed, counted from 1, and how.
func stepText(fields map[string]json.RawMessage) string {
	var at int
	var done []bool
	_ = json.Unmarshal(fields["step"], &at) // written by us; 0 at worst
	_ = json.Unmarshal(fields["done"], &done)
	text := "step " + task.ID(at+1).String()
	switch {
	case len(done) == 2 && done[1]:
		text += ": done"
	case len(done) == 2:
		text += ": not done after all"
	}
	for _, name := range []string{"title", "details"} {
		if raw, is := fields[name]; is {
			text += ", " + fieldText(name, raw)
		}
	}
	return text
}

// subtaskText describes which step was delegated to whom, counted from 1: "step
// 2 to worker as #43". Delegations outside the plan have no step.
func subtaskText(raw json.RawMessage) string {
	var c struct {
		Step    *int    `json:"step"`
		Subtask task.ID `json:"subtask"`
		Owner   string  `json:"owner"`
	}
	_ = json.Unmarshal(raw, &c) // written by us; empty at worst
	text := "a part"
	if c.Step != nil {
		text = "step " + strconv.Itoa(*c.Step+1)
	}
	if c.Owner != "" {
		text += " to " + c.Owner
	}
	if c.Subtask != 0 {
		text += " as #" + c.Subtask.String()
	}
	return text
}

// listText returns a list of short words, or "none".
func listText(list []any) string {
	words := make([]string, len(list))
	for i, v := range list {
		if words[i], _ = v.(string); words[i] == "" {
			return ""
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

// blockerText lists the current blockers of a task: "#40, #41", "nothing".
func blockerText(raw json.RawMessage) string {
	var c struct {
		BlockedBy [][]task.ID `json:"blockedBy"`
		Blocker   task.ID     `json:"blocker"`
		Left      *int        `json:"left"`
	}
	_ = json.Unmarshal(raw, &c) // written by us; empty at worst
	switch {
	case c.Blocker != 0 && c.Left != nil && *c.Left == 0:
		return "#" + c.Blocker.String() + ", and nothing blocks it now"
	case c.Blocker != 0:
		return "#" + c.Blocker.String()
	case len(c.BlockedBy) < 2 || len(c.BlockedBy[1]) == 0:
		return "nothing"
	}
	words := make([]string, len(c.BlockedBy[1]))
	for i, id := range c.BlockedBy[1] {
		words[i] = "#" + id.String()
	}
	return strings.Join(words, ", ")
}
