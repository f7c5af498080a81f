package views

import (
	"cmp"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// HistoryModel is the list of done and canceled tasks, newest first.
type HistoryModel struct {
	Tasks  []task.Task
	Hits   map[task.ID]task.Hit // where a search matched
	Times  task.HistoryTimes    // data of the chart
	Query  HistoryQuery         // the filter of this page
	Zone   *time.Location       // time zone for days; nil: UTC
	Agents []string             // IDs that the filter offers
	Next   string               // the cursor of the next page, or ""

	Indexing int // per cent of the history that is indexed, while incomplete
}

func (m *HistoryModel) zone() *time.Location { return cmp.Or(m.Zone, time.UTC) }

func (m *HistoryModel) filtered() bool {
	q := m.Query
	q.Before = ""
	return q != HistoryQuery{}
}

// historyDay contains the tasks archived on one day.
type historyDay struct {
	Label string // "Friday 20 November 2026"
	Tasks []task.Task
}

// days groups the tasks by the day on which they were archived.
func (m *HistoryModel) days(now task.Time) []historyDay {
	zone := m.zone()
	var list []historyDay
	for _, t := range m.Tasks {
		label := dayLabel(t.ArchivedAt.Std().In(zone), now.Std().In(zone))
		if n := len(list); n == 0 || list[n-1].Label != label {
			list = append(list, historyDay{Label: label})
		}
		last := &list[len(list)-1]
		last.Tasks = append(last.Tasks, t)
	}
	return list
}

// dayLabel returns the name of a day relative to now: "Today, 20 November".
func dayLabel(day, now time.Time) string {
	switch {
	case sameDay(day, now):
		return "Today, " + day.Format("2 January")
	case sameDay(day, now.AddDate(0, 0, -1)):
		return "Yesterday, " + day.Format("2 January")
	case day.Year() == now.Year():
		return day.Format("Monday, 2 January")
	}
	return day.Format("Monday, 2 January 2006")
}

func sameDay(a, b time.Time) bool {
	y1, m1, d1 := a.Date()
	y2, m2, d2 := b.Date()
	return y1 == y2 && m1 == m2 && d1 == d2
}

// counts describes how the day's tasks ended.
func (d historyDay) counts() string {
	canceled := 0
	for i := range d.Tasks {
		if d.Tasks[i].Status == task.Canceled {
			canceled++
		}
	}
	done := len(d.Tasks) - canceled
	switch {
	case canceled == 0:
		return ui.Count(done, "done", "done")
	case done == 0:
		return ui.Count(canceled, "canceled", "canceled")
	}
	return ui.Count(done, "done", "done") + ", " + ui.Count(canceled, "canceled", "canceled")
}

// older returns the link to the next page, or "".
func (m *HistoryModel) older() string {
	if m.Next == "" {
		return ""
	}
	q := m.Query
	q.Before = m.Next
	return URL.History(q)
}

// historyChip is one active criterion and the list without it.
type historyChip struct{ Text, Without string }

// chips lists the active criteria.
func (q HistoryQuery) chips() []historyChip {
	q.Before = ""
	var list []historyChip
	add := func(text string, drop func(*HistoryQuery)) {
		without := q
		if drop(&without); without != q {
			list = append(list, historyChip{text, URL.History(without)})
		}
	}
	add(q.Query, func(q *HistoryQuery) { q.Query = "" })
	add(q.Agent, func(q *HistoryQuery) { q.Agent = "" })
	add("by "+ui.ActorLabel(q.CreatedBy), func(q *HistoryQuery) { q.CreatedBy = "" })
	add("label "+q.Label, func(q *HistoryQuery) { q.Label = "" })
	add("project "+q.Project, func(q *HistoryQuery) { q.Project = "" })
	add(q.Status, func(q *HistoryQuery) { q.Status = "" })
	add(choiceLabel(sinceChoices, q.Since), func(q *HistoryQuery) { q.Since = "" })
	add("from "+q.From, func(q *HistoryQuery) { q.From = "" })
	add("to "+q.To, func(q *HistoryQuery) { q.To = "" })
	return list
}

// hit returns where the search matched a task, nil for none.
func (m *HistoryModel) hit(id task.ID) *task.Hit {
	if h, ok := m.Hits[id]; ok {
		return &h
	}
	return nil
}
