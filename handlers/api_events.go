package handlers

import (
	"cmp"
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

type eventsIn struct {
	After cursor `query:"after" doc:"only entries with a greater id; use next of the previous page"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type eventsOutBody struct {
	Events []task.Event `json:"events"`
	Next   string       `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	CutMark
}

type statsIn struct {
	Since   queryTime `query:"since" doc:"RFC 3339; default: 24 hours ago, or with by=day 30 days ago"`
	By      string    `query:"by" enum:"hour,day" default:"hour"`
	Agent   string    `query:"agent" doc:"only times, groups and durations of one agent"`
	Project string    `query:"project" doc:"only tasks of this project; queue lengths are not measured per project"`
}

// runTotals are the sums of the runs that ended in an hour or day.
type runTotals struct {
	Hour   task.Time `json:"from,omitzero" doc:"start of the hour or day, UTC"`
	Agent  string    `json:"agent,omitempty"`
	Status string    `json:"status" enum:"completed,failed,canceled"`
	Runs   int       `json:"runs"`
	Millis int64     `json:"durationMs"`
	Tokens int64     `json:"tokens"`
	Cost   float64   `json:"costUsd"`
}

type agentCounts struct {
	ID string `json:"id"`
	AgentLoad
}

type statsOutBody struct {
	Open        int           `json:"open" doc:"draft and active tasks"`
	Active      int           `json:"active"`
	Approvals   int           `json:"approvals" doc:"runs that are waiting for approval"`
	InFlight    []task.ID     `json:"inFlight" doc:"tasks with a queued or running run"`
	Agents      []agentCounts `json:"agents"`
	Done24h     int           `json:"done24h"`
	Canceled24h int           `json:"canceled24h"`
	MedianRunMs int64         `json:"medianRunMs" doc:"median duration of the last 100 completed runs"`
	Runs        []runTotals   `json:"runs" doc:"by time, agent and outcome"`
	InsightsBody
}

func (s *Server) apiEvents(ctx context.Context, in *eventsIn) (eventsOutBody, error) {
	out, err := s.eventsAnswer(ctx, task.EventFilter{After: in.After.ID, Limit: in.Limit})
	if err != nil || len(out.Events) > 0 || in.After.ID == 0 {
		return out, err
	}
	last, err := s.svc.LastEvent(ctx)
	if err == nil && in.After.ID > last { // otherwise the stream stays silent until the log has grown to that length
		err = task.FieldErrorf("after", "is beyond the end of the log, whose last line is %d: "+
			"the database may have been restored from a backup; continue after %[1]d", last)
	}
	return out, err
}

func (s *Server) eventsAnswer(ctx context.Context, f task.EventFilter) (eventsOutBody, error) {
	list, err := s.svc.Events(ctx, actorIn(ctx), f)
	return eventsOutBody{list, nextID(ctx, list, f.Limit, func(e task.Event) task.ID { return e.ID }), cutMark(ctx)}, err
}

func (s *Server) followEvents(c echo.Context) error {
	from := cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("after"))
	last, err := s.svc.LastEvent(c.Request().Context())
	if err != nil {
		return err
	}
	if from == "" {
		return s.eventLog(c, last)
	}
	var at cursor
	if err := at.UnmarshalText([]byte(from)); err != nil {
		return task.FieldErrorf("after", "%s", err)
	}
	// After a restore, the database has fewer lines than the caller has read.
	return s.eventLog(c, min(at.ID, last))
}

const day = 24 * time.Hour

func (s *Server) apiStats(ctx context.Context, in *statsIn) (b statsOutBody, err error) {
	since := in.Since.Time
	switch {
	case since != 0:
	case in.By == "day":
		since = s.svc.Now().Add(-30 * day)
	default:
		since = s.svc.Now().Add(-day)
	}
	st, err := s.svc.Stats(ctx, actorIn(ctx), since)
	if err != nil {
		return b, err
	}
	agents, err := s.svc.Agents(actorIn(ctx))
	if err != nil {
		return b, err
	}
	b.Open, b.Active, b.Approvals, b.InFlight = st.Open, st.Active, st.Approvals, st.InFlight
	b.Done24h, b.Canceled24h, b.MedianRunMs = st.Done24h, st.Canceled24h, st.MedianRunMs
	for _, def := range agents {
		b.Agents = append(b.Agents, agentCounts{def.ID, AgentLoad(st.Loads[def.ID])})
	}
	for _, h := range st.Hours {
		b.Runs = append(b.Runs, runTotals(h))
	}
	if in.By == "day" {
		b.Runs = byDay(b.Runs)
	}
	b.InsightsBody, err = s.insightsBody(ctx, task.InsightFilter{From: since, Daily: in.By == "day", Agent: in.Agent, Project: in.Project})
	return b, err
}

// byDay sums hours per UTC day, in order of first occurrence.
func byDay(hours []runTotals) []runTotals {
	type key struct {
		day           task.Time
		agent, status string
	}
	at := map[key]int{}
	var days []runTotals
	for _, h := range hours {
		h.Hour -= h.Hour % task.Time(day.Milliseconds())
		k := key{h.Hour, h.Agent, h.Status}
		i, seen := at[k]
		if !seen {
			at[k] = len(days)
			days = append(days, h)
			continue
		}
		d := &days[i]
		d.Runs += h.Runs
		d.Millis += h.Millis
		d.Tokens += h.Tokens
		d.Cost += h.Cost
	}
	return days
}
