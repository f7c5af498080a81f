package views

import (
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// guide contains the samples of the styleguide.
type guide struct {
	theme string
	c     Chrome
}

// id returns an HTML ID that is unique for the theme.
func (g guide) id(s string) string { return "sg-" + g.theme + "-" + s }

// guideGlyphs are all glyphs.
var guideGlyphs = []ui.Glyph{ui.GlyphDraft, ui.GlyphIdle, ui.GlyphWork, ui.GlyphWait, ui.GlyphFail, ui.GlyphDone, ui.GlyphCanceled}

// guidePills are the kinds of pills, each with a text.
var guidePills = [][2]string{
	{"", "Plain"},
	{"run", "Working"},
	{"ok", "Completed"},
	{"warn", "Needs you"},
	{"bad", "Failed"},
	{"accent", "New"},
	{"tag", "label"},
}

// guideTools are tools of every danger level.
var guideTools = []ToolChip{
	{Name: "read", Granted: true},
	{Name: "edit", Granted: true, Danger: 1},
	{Name: "bash", Granted: true, Danger: 2},
	{Name: "fetch"},
}

func (g guide) spark(line bool) chart.Spark {
	return chart.Spark{Label: "Eight hours: 2, 5, 3, 8, 6, 9, 4 and 7", Values: []float64{2, 5, 3, 8, 6, 9, 4, 7}, Line: line}
}

// runs returns sample runs, one with every outcome.
func (g guide) runs() []task.Run {
	var list []task.Run
	for i, s := range []task.RunStatus{
		task.RunCompleted, task.RunCompleted, task.RunFailed,
		task.RunCompleted, task.RunCanceled, task.RunCompleted,
	} {
		start := g.c.Now.Add(-time.Duration(i+2) * time.Hour)
		list = append(list, task.Run{
			ID: task.ID(i + 1), Status: s, Phase: task.PhaseEnded,
			StartedAt: start, EndedAt: start.Add(time.Duration(3+i*2) * time.Minute),
		})
	}
	return list
}

const guideTerm = "$ go test ./...\nok  example.com/limit  0.8s"

const guideMarkdown = "Text with **weight**, `code`, a [link](https://example.com) and #1.\n\n- " +
	"one\n- two\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"

// Styleguide is the page that shows every component.
func (urls) Styleguide() string { return "/styleguide" }
