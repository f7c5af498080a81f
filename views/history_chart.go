package views

import (
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// chart returns the outcomes of a filter over time; each bar links to its days.
func (m *HistoryModel) chart(now task.Time) chart.Data {
	c := chart.Data{
		Title: "Outcomes", Head: capitalize(m.Times.Unit),
		Series: m.series(), Linked: true,
	}
	var sum task.HistoryTime
	for i, t := range m.Times.Times {
		end := m.Times.End
		if i+1 < len(m.Times.Times) {
			end = m.Times.Times[i+1].Start
		}
		c.Rows = append(c.Rows, m.chartRow(t, end, now))
		sum.Done, sum.Canceled, sum.Failed = sum.Done+t.Done, sum.Canceled+t.Canceled, sum.Failed+t.Failed
	}
	c.Label = "By " + m.Times.Unit + ": " + ui.Count(sum.Done, "task done", "tasks done") + ", " +
		ui.Count(sum.Canceled, "canceled", "canceled")
	if m.Times.Runs {
		c.Label += ", " + ui.Count(sum.Failed, "failed run", "failed runs")
	}
	if n := len(c.Rows); n > 0 {
		c.Label += ", from " + c.Rows[0].Name + " on"
	}
	if m.Times.Cut {
		c.Note = "Incomplete: only the newest " + strconv.Itoa(sum.Done+sum.Canceled) + " tasks are counted."
	}
	return c
}

func (m *HistoryModel) chartRow(t task.HistoryTime, end, now task.Time) chart.Row {
	zone := m.zone()
	first, last := t.Start.Std().In(zone), end.Std().In(zone).AddDate(0, 0, -1)
	q := m.Query
	q.Before, q.From, q.To = "", first.Format(time.DateOnly), last.Format(time.DateOnly)
	r := chart.Row{Short: first.Format("2 Jan"), Selected: q.From == m.Query.From && q.To == m.Query.To}
	switch m.Times.Unit {
	case task.UnitDay:
		r.Name = dayLabel(first, now.Std().In(zone))
	case task.UnitWeek:
		r.Name = first.Format("2 January 2006") + " to " + last.Format("2 January")
	case task.UnitMonth:
		r.Name, r.Short = first.Format("January 2006"), first.Format("Jan 2006")
	default:
		r.Name, r.Short = first.Format("2006"), first.Format("2006")
	}
	r.Values = []float64{float64(t.Done), float64(t.Canceled), float64(t.Failed)}[:len(m.series())]
	if t.Done+t.Canceled+t.Failed == 0 {
		return r // nothing to link to
	}
	done, canceled := q, q
	done.Status, canceled.Status = string(task.Done), string(task.Canceled)
	r.Link, r.Links = URL.History(q), []string{URL.History(done), URL.History(canceled)}
	if m.Times.Runs {
		r.Links = append(r.Links, URL.Runs(RunQuery{Status: string(task.RunFailed), Agent: q.Agent, From: q.From, To: q.To}))
	}
	return r
}

func (m *HistoryModel) series() []chart.Series {
	list := []chart.Series{
		{Name: "done", Class: "fill-ok"},
		{Name: "canceled", Class: "fill-off"},
		{Name: "failed runs", Class: "fill-bad"},
	}
	if !m.Times.Runs {
		return list[:2]
	}
	return list
}

// hitPlace describes where a search matched, with the URL of that place.
func hitPlace(id task.ID, h *task.Hit) (words, link string) {
	switch h.Place {
	case task.HitSummary:
		return "in the summary", ""
	case task.HitComment:
		return "in a comment by " + ui.ActorLabel(h.By), URL.Comment(id, h.Message)
	case task.HitRun:
		return "in the summary of run " + h.Run.String(), URL.Run(h.Run)
	case task.HitTranscript:
		return "in run " + h.Run.String() + "'s transcript", URL.RunLineAt(h.Run, h.Message)
	}
	return "in the description", ""
}
