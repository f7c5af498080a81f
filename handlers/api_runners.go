package handlers

import (
	"context"

	"taskyard/task"
)

// Runners is what is known of the runners of this server. It never waits
// for a program.
type Runners interface {
	Runners() []task.RunnerInfo
	Refresh() // has them looked at again
}

// runners lists what is known of the runners. Where their programs lie is for
// admins alone.
func (s *Server) runners(a task.Actor) []task.RunnerInfo {
	if s.opt.Runners == nil {
		return []task.RunnerInfo{}
	}
	list := s.opt.Runners.Runners()
	for i := range list {
		if !a.May(task.Admin) {
			list[i].Path = ""
		}
		if why := s.svc.NoWorkerReason(list[i].Name); why != "" {
			list[i].Installed, list[i].Problem, list[i].Remedy = false, why,
				"Start one on a machine that may execute its runs: taskyard worker --help tells how."
		}
	}
	return list
}

// runner returns what is known of the runner of an agent, nil when that is
// nothing.
func (s *Server) runner(a task.Actor, name string) *task.RunnerInfo {
	for _, r := range s.runners(a) {
		if r.Name == name {
			return &r
		}
	}
	return nil
}

type runnersOut struct {
	Body struct {
		Runners []task.RunnerInfo `json:"runners" doc:"by name; builtin is there without configuration"`
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
