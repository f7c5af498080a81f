package views

import (
	"cmp"
	"strings"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// Timeline returns the timeline of a task's runs and subtasks, in the reader's
// time zone. Runs that have not started are omitted.
func (c Chrome) Timeline(runs []*task.Run, subtasks []*task.Task) chart.Gantt {
	var bars []chart.GanttBar
	add := func(label, what, href, class string, from, to task.Time) {
		b := chart.GanttBar{Label: label, What: what, Href: href, Class: class, From: c.local(from), Exact: c.Exact(from)}
		if to != 0 {
			b.To = c.local(to)
		}
		bars = append(bars, b)
	}
	for _, r := range runs {
		if r.StartedAt == 0 {
			continue
		}
		what := RunSentence(r)
		if r.EndedAt != 0 {
			what += " after " + ui.Dur(r.Duration(c.Now))
		}
		add("Run "+r.ID.String(), what, URL.Run(r.ID), outcomeFill(r.Status), r.StartedAt, r.EndedAt)
	}
	for _, t := range subtasks {
		g := ui.GlyphFromTask(t)
		class := map[ui.Glyph]string{ui.GlyphDone: "fill-ok", ui.GlyphFail: "fill-bad", ui.GlyphWork: "fill-run", ui.GlyphWait: "fill-warn"}[g]
		add("#"+t.ID.String(), strings.ToLower(g.Label())+": "+t.Title, URL.Task(t.ID), cmp.Or(class, "fill-off"), t.CreatedAt, t.ArchivedAt)
	}
	return chart.NewGantt(c.local(c.Now), bars)
}
