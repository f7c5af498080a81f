package handlers

import (
	"context"

	"taskyard/task"
)

type usageIn struct {
	By   string    `query:"by" enum:"day,agent,model,project,task,run" default:"day"`
	From queryTime `query:"from" doc:"default: 30 days before to"`
	To   queryTime `query:"to" doc:"default: now; at most 366 days after from"`
}

func (s *Server) apiUsage(ctx context.Context, in *usageIn) (task.UsageReport, error) {
	return s.svc.Usage(ctx, actorIn(ctx), in.By, in.From.Time, in.To.Time)
}
