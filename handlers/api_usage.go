package handlers

import (
	"context"

	"taskyard/task"
)

type usageIn struct {
	By   string    `query:"by" enum:"day,agent,model,task,run" default:"day"`
	From queryTime `query:"from" doc:"default 30 days before to"`
	To   queryTime `query:"to" doc:"default now; at most 366 days after from"`
}

type usageOut struct {
	Body task.UsageReport
}

func (s *Server) usageOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/usage", Need: task.Read, Tag: "Runs",
		Summary: "Sum up tool calls, tokens and cost by day, agent, model, task or run",
		Desc: "Days, agents and models count use as it is told, in whole days (UTC); tasks and runs count what ended within the time. " +
			"The use of one run is in `usage` of GET /api/runs/{id}, while it runs too. `budgets` are those of today.",
	},
		func(ctx context.Context, in *usageIn) (*usageOut, error) {
			out, err := s.svc.Usage(ctx, actorIn(ctx), in.By, in.From.Time, in.To.Time)
			return &usageOut{out}, err
		})
}
