package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// UsageBy lists what Usage may sum up by.
var UsageBy = []string{"day", "agent", "model", "project", "task", "run"}

const (
	maxUsageRows = 500
	maxUsageDays = 366
)

// Usage sums usage by "day" (or ""), "agent", "model", "project", "task" or
// "run". For days, agents and models, it counts usage when it is reported, in
// whole UTC days; otherwise, it counts the runs that ended. A zero to is now, a
// zero from 30 days before to. Errors: unknown by, more than 366 days.
func (s *Service) Usage(ctx context.Context, a task.Actor, by string, from, to task.Time) (out task.UsageReport, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return out, err
	}
	by, to = cmp.Or(by, UsageBy[0]), cmp.Or(to, s.Now())
	from = cmp.Or(from, task.StartOfDay(to.Add(-29*24*time.Hour)))
	var p task.Problems
	if !slices.Contains(UsageBy, by) {
		p.Add("by", "must be one of %s", strings.Join(UsageBy, ", "))
	}
	if to < from || to.Sub(from) > maxUsageDays*24*time.Hour {
		p.Add("from", "must be at most %d days before to, and not after it", maxUsageDays)
	}
	if err := p.Err(); err != nil {
		return out, err
	}
	out = task.UsageReport{By: by, From: from, To: to, Rows: []task.UsageRow{}, Budgets: []task.Budget{}}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error { return s.readUsage(rx, &out) })
	for _, r := range out.Rows {
		t := &out.Total
		t.Runs, t.ToolCalls, t.TokensIn, t.TokensOut = t.Runs+r.Runs, t.ToolCalls+r.ToolCalls, t.TokensIn+r.TokensIn, t.TokensOut+r.TokensOut
		t.CostUSD, t.Estimated = t.CostUSD+r.CostUSD, t.Estimated || r.Estimated
	}
	out.Total.Key = "total"
	return out, err
}

func (s *Service) readUsage(rx *db.Rx, out *task.UsageReport) error {
	var rows []task.UsageRow
	var err error
	switch out.By {
	case "project":
		rows, err = rx.ProjectUsage(out.From, out.To+1, maxUsageRows)
	case "task":
		rows, err = rx.TaskUsage(out.From, out.To+1, maxUsageRows)
	case "run":
		rows, err = rx.RunUsage(out.From, out.To+1, maxUsageRows)
	default:
		rows, err = rx.Usage(out.By, task.StartOfDay(out.From), out.To+1, maxUsageRows)
	}
	if err != nil {
		return err
	}
	out.Rows = append(out.Rows, rows...)
	instance, err := s.agentBudgets(rx, "")
	if err != nil {
		return err
	}
	out.Budgets = append(out.Budgets, instance...)
	for _, def := range s.agents.Agents() {
		list, err := s.agentBudgets(rx, def.ID)
		if err != nil {
			return err
		}
		for _, b := range list {
			if b.Agent != "" {
				out.Budgets = append(out.Budgets, b)
			}
		}
	}
	return nil
}

// Budgets returns the budgets of the day that bound an agent, its own before
// the instance's, each with what is used of it; with "" the instance's alone. Error:
// may not read.
func (s *Service) Budgets(ctx context.Context, a task.Actor, agent string) ([]task.Budget, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.Budget, error) { return s.agentBudgets(rx, agent) })
}
