package views

import "taskyard/task"

func (q HistoryQuery) at(path string) string {
	return query(path, "agent", q.Agent, "by", q.CreatedBy, "label", q.Label, "project", q.Project, "status", q.Status,
		"q", q.Query, "since", q.Since, "from", q.From, "to", q.To, "before", q.Before)
}

// History is the list of archived tasks, filtered.
func (urls) History(q HistoryQuery) string { return q.at("/history") }

// HistoryFile is a file with all tasks of the filter; kind is csv or json.
func (urls) HistoryFile(kind string, q HistoryQuery) string {
	q.Before = ""
	return q.at("/history." + kind)
}

// RunLineAt is a run's page at a line of its transcript.
func (u urls) RunLineAt(run, message task.ID) string {
	return query(u.Run(run), "at", message.String()) + "#m" + message.String()
}

// Comment is a task's page at a message of its thread.
func (u urls) Comment(id, message task.ID) string {
	return u.Task(id) + "#msg-" + message.String()
}

// InsightQuery selects the statistics.
type InsightQuery struct {
	Range   string // "24h", "7d", "30d" or "90d"; "": 7d
	Agent   string
	Project string
}

// Insights is the page of statistics over time.
func (urls) Insights(q InsightQuery) string {
	return query("/insights", "range", q.Range, "agent", q.Agent, "project", q.Project)
}
