package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// ReportDays is how far back an agent's report sums.
const ReportDays = 30

// AgentReport is how the runs of an agent went lately.
type AgentReport struct {
	Runs, Completed, Failed int // ended in the last 30 days
	CostUSD                 float64
	Tokens                  int64
	Last                    []*task.Run // ended, newest first
}

// AgentReports returns the report of each agent, with its last ended runs;
// with an id that of one agent alone. Error: may not read.
func (s *Service) AgentReports(ctx context.Context, a task.Actor, ids []string, last int) (map[string]AgentReport, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	out := map[string]AgentReport{}
	err := s.db.Snapshot(ctx, func(rx *db.Rx) error {
		sums, err := rx.AgentTotals(rx.Now.Add(-ReportDays * 24 * time.Hour))
		if err != nil {
			return err
		}
		for _, t := range sums {
			out[t.Agent] = out[t.Agent].add(t)
		}
		for _, id := range ids {
			r := out[id]
			if r.Last, err = rx.LastRuns(id, last); err != nil {
				return err
			}
			out[id] = r
		}
		return nil
	})
	return out, err
}

func (r AgentReport) add(t db.RunTotals) AgentReport {
	r.Runs += t.Runs
	switch task.RunStatus(t.Status) {
	case task.RunCompleted:
		r.Completed += t.Runs
	case task.RunFailed:
		r.Failed += t.Runs
	}
	r.CostUSD += t.Cost
	r.Tokens += t.Tokens
	return r
}
