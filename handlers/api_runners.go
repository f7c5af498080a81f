package handlers

import (
	"context"

	"taskyard/task"
)

type runnersOutBody struct {
	Runners []task.RunnerInfo `json:"runners" doc:"by name; builtin is available without configuration"`
}

func (s *Server) apiRunners(ctx context.Context, _ *struct{}) (runnersOutBody, error) {
	return runnersOutBody{s.runners(actorIn(ctx))}, nil
}

func (s *Server) apiProbeRunners(ctx context.Context, in *struct{}) (runnersOutBody, error) {
	if s.opt.Runners != nil {
		s.opt.Runners.Refresh()
	}
	return s.apiRunners(ctx, in)
}
