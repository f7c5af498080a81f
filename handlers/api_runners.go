package handlers

import (
	"context"

	"taskyard/task"
)

type runnersOut struct {
	Body struct {
		Runners []task.RunnerInfo `json:"runners" doc:"by name; builtin is available without configuration"`
	}
}

func (s *Server) apiRunners(ctx context.Context, _ *struct{}) (*runnersOut, error) {
	out := &runnersOut{}
	out.Body.Runners = s.runners(actorIn(ctx))
	return out, nil
}

func (s *Server) apiProbeRunners(ctx context.Context, in *struct{}) (*runnersOut, error) {
	if s.opt.Runners != nil {
		s.opt.Runners.Refresh()
	}
	return s.apiRunners(ctx, in)
}
