package ui

import (
	"strconv"

	"taskyard/task"
)

// Glyph is the graphical representation of a state, by shape and color.
type Glyph int

// The glyphs.
const (
	GlyphIdle     Glyph = iota // ring
	GlyphDraft                 // dashed ring
	GlyphWork                  // pie of done steps
	GlyphWait                  // pause disc: waits for a person
	GlyphFail                  // "!" disc
	GlyphDone                  // check disc
	GlyphCanceled              // crossed ring
)

var glyphs = []struct{ class, label string }{
	GlyphIdle:     {"glyph-idle", "Idle"},
	GlyphDraft:    {"glyph-draft", "Draft"},
	GlyphWork:     {"glyph-work", "Working"},
	GlyphWait:     {"glyph-wait", "Waiting for you"},
	GlyphFail:     {"glyph-bad", "Failed"},
	GlyphDone:     {"glyph-ok", "Done"},
	GlyphCanceled: {"glyph-canceled", "Canceled"},
}

// Label names the state.
func (g Glyph) Label() string { return glyphs[g].label }

func (g Glyph) class() string { return "glyph " + glyphs[g].class }

// GlyphFromTask returns the glyph of a task.
func GlyphFromTask(t *task.Task) Glyph {
	switch t.Status {
	case task.Done:
		return GlyphDone
	case task.Canceled:
		return GlyphCanceled
	}
	return ShownGlyph(t.DisplayState())
}

// ShownGlyph returns the glyph of a state of open tasks.
func ShownGlyph(s task.DisplayState) Glyph {
	switch s {
	case task.ShownDraft:
		return GlyphDraft
	case task.ShownWaiting:
		return GlyphWait
	case task.ShownWorking:
		return GlyphWork
	case task.ShownFailed:
		return GlyphFail
	}
	return GlyphIdle
}

// RunGlyph returns the glyph of a run.
func RunGlyph(r *task.Run) Glyph {
	switch r.Status {
	case task.RunRunning:
		if r.Phase == task.PhasePermission {
			return GlyphWait
		}
		return GlyphWork
	case task.RunCompleted:
		return GlyphDone
	case task.RunFailed:
		return GlyphFail
	case task.RunCanceled:
		return GlyphCanceled
	}
	if r.Phase == task.PhaseApproval {
		return GlyphWait
	}
	return GlyphIdle
}

// pie returns the dash array of a pie filled by done of total; without steps it
// is half full.
func pie(done, total int) string {
	if total == 0 {
		return "50 100"
	}
	return strconv.Itoa(100*done/total) + " 100"
}

// priorityBars returns how many of the three bars of a priority are filled.
func priorityBars(p int) int {
	switch {
	case p >= 6:
		return 3
	case p >= 3:
		return 2
	}
	return 1
}

// priorityClass and barClass are plain strings, because boards render hundreds,
// and a list of classes costs templ more than the rest of the mark.
func priorityClass(p int) string {
	if p >= 9 {
		return "priority urgent"
	}
	return "priority"
}

func barClass(p, bar int) string {
	if priorityBars(p) >= bar {
		return "filled"
	}
	return ""
}
