package views

import (
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

func withoutID(ids []task.ID, id task.ID) []task.ID {
	return slices.DeleteFunc(slices.Clone(ids), func(i task.ID) bool { return i == id })
}

// blockers returns the content of the form: what was typed, otherwise the
// current set.
func (e TaskEntries) blockers(t *task.Task) string {
	if e.BlockedBy != nil {
		return *e.BlockedBy
	}
	return task.JoinIDs(t.BlockedBy, " ")
}

// blockedLabel describes what blocks a task, in a word or two.
func blockedLabel(t *task.Task) string {
	switch {
	case t.BlockersCanceled > 0:
		return "Blocker canceled"
	case len(t.BlockedBy) == 1:
		return "Blocked by #" + t.BlockedBy[0].String()
	}
	return "Blocked by " + strconv.Itoa(t.Blocked)
}

// stateLabel returns the glyph's label, or that the task waits for other tasks.
func stateLabel(t *task.Task) string {
	switch t.WaitingFor {
	case task.WaitsReview:
		return "Waiting for review"
	case task.WaitsMerge:
		return "Waiting for its merge"
	}
	if g := ui.GlyphFromTask(t); g != ui.GlyphIdle || t.WaitingFor != task.WaitsTasks {
		return g.Label()
	}
	return "Blocked"
}

// reasonText is a reason split around the task or run that it names.
type reasonText struct{ before, link, after, href string }

func splitReason(r task.Reason) reasonText {
	for _, l := range []struct {
		id   task.ID
		name string
		href string
	}{
		{r.Task, "#" + r.Task.String(), URL.Task(r.Task)},
		{r.Run, "Run " + r.Run.String(), URL.Run(r.Run)},
		{r.Run, "run " + r.Run.String(), URL.Run(r.Run)},
	} {
		if before, after, found := strings.Cut(r.Message, l.name); found && l.id != 0 {
			return reasonText{strings.TrimSuffix(before, " "), l.name, after, l.href} // templ adds the space
		}
	}
	return reasonText{before: r.Message}
}
