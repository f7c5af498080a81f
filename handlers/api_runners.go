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

func (s *Server) runnersAnswer(ctx context.Context) (*runnersOut, error) {
	out := &runnersOut{}
	out.Body.Runners = s.runners(actorIn(ctx))
	return out, nil
}

func (s *Server) runnerOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/runners", Need: task.Read, Tag: "Agents",
		Summary: "List the runners: what each can start, and what it holds an agent to",
		Desc:    "They are looked at in the background: at the start, when a definition or a program changes, and when asked.",
	},
		func(ctx context.Context, _ *struct{}) (*runnersOut, error) {
			return s.runnersAnswer(ctx)
		})
	handle(s, op{
		Method: "POST", Path: "/api/runners/probe", Need: task.Admin, Status: 202, Tag: "Agents",
		Summary: "Check all runners again", Desc: "Answers at once; `probing` is true for those that are being looked at.",
	},
		func(ctx context.Context, _ *struct{}) (*runnersOut, error) {
			if s.opt.Runners != nil {
				s.opt.Runners.Refresh()
			}
			return s.runnersAnswer(ctx)
		})
}
