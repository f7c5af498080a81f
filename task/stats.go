package task

import "time"

// Hour is the span of one sum, in ms. They begin with the hours of UTC.
const Hour = Time(time.Hour / time.Millisecond)

// DayHours is how many hours a picture of a day has, the present one included.
const DayHours = 24

// StatDay returns the start of the first of the last DayHours hours.
func StatDay(now Time) Time { return now - now%Hour - (DayHours-1)*Hour }

// StatFilter says which hours are summed: from one moment to before another.
// Empty names are all.
type StatFilter struct {
	From, To Time
	Agent    string
	Model    string
	Project  string
}

// StatRow is what happened in an hour, or by an agent with a model, in a project. Tasks have
// an owner and no model; only runs have durations, tokens and cost.
type StatRow struct {
	Hour          Time    `json:"hour,omitzero" doc:"its start, UTC"`
	Agent         string  `json:"agent,omitempty"`
	Model         string  `json:"model,omitempty"`
	Project       string  `json:"project,omitempty"`
	Created       int     `json:"tasksCreated"`
	Done          int     `json:"tasksDone"`
	Canceled      int     `json:"tasksCanceled"`
	Asked         int     `json:"asked" doc:"items that started to wait for a person"`
	RunsCompleted int     `json:"runsCompleted"`
	RunsFailed    int     `json:"runsFailed"`
	RunsCanceled  int     `json:"runsCanceled"`
	Millis        int64   `json:"durationMs" doc:"total of the runs that ended"`
	TokensIn      int     `json:"tokensIn"`
	TokensOut     int     `json:"tokensOut"`
	CostUSD       float64 `json:"costUsd"`
	Estimated     bool    `json:"estimated,omitzero" doc:"true: tokens or cost are partly estimated"`
}

// Runs is how many runs ended.
func (r *StatRow) Runs() int { return r.RunsCompleted + r.RunsFailed + r.RunsCanceled }

// Add adds what another row counts; what names the row stays.
func (r *StatRow) Add(o *StatRow) {
	r.Created, r.Done, r.Canceled, r.Asked = r.Created+o.Created, r.Done+o.Done, r.Canceled+o.Canceled, r.Asked+o.Asked
	r.RunsCompleted, r.RunsFailed, r.RunsCanceled = r.RunsCompleted+o.RunsCompleted, r.RunsFailed+o.RunsFailed, r.RunsCanceled+o.RunsCanceled
	r.Millis, r.TokensIn, r.TokensOut = r.Millis+o.Millis, r.TokensIn+o.TokensIn, r.TokensOut+o.TokensOut
	r.CostUSD, r.Estimated = r.CostUSD+o.CostUSD, r.Estimated || o.Estimated
}
