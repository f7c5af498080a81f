package task

import "time"

// Depth is how long a queue is.
type Depth struct {
	Queued  int `json:"queued" doc:"active tasks without a live claim"`
	Working int `json:"working" doc:"active tasks with a live claim"`
	Waiting int `json:"waiting" doc:"of both, those that are waiting for a person"`
}

// Add adds another queue.
func (d *Depth) Add(o Depth) {
	d.Queued, d.Working, d.Waiting = d.Queued+o.Queued, d.Working+o.Working, d.Waiting+o.Waiting
}

// InsightFilter selects what to report: from one moment until now, by hours or
// days of a time zone (nil: UTC), for one agent and one project, or for all if
// "".
type InsightFilter struct {
	From    Time
	Daily   bool
	Agent   string
	Project string
	Zone    *time.Location
}

// RunSpans are how long the runs took that completed; 0 where none did.
type RunSpans struct {
	P50Ms int64 `json:"p50Ms" doc:"median of the completed runs"`
	P95Ms int64 `json:"p95Ms" doc:"95th percentile of the completed runs"`
}

// InsightTime is what happened within an hour or a day. Depth is the length of
// the queue at the end of the hour, or the longest of the day; nil where
// nobody looked, and of one project.
type InsightTime struct {
	StatRow
	RunSpans
	Depth *Depth `json:"depth,omitempty" doc:"length of the queue at the end of the hour, or its maximum of the day; absent if it was not measured, and for a project"`
}

// InsightGroup is what an agent did, or what was done with a model.
type InsightGroup struct {
	StatRow
	RunSpans
}

// Insights is what happened, by time, by agent, by model and by project. Hours and days
// without anything are there too.
type Insights struct {
	From     Time
	Daily    bool
	Times    []InsightTime
	Agents   []InsightGroup
	Models   []StatRow // of runs
	Projects []StatRow // "": without one; none at all where all are without
	Total    InsightGroup
	Cut      bool // only the newest runs were asked how long they took
}
