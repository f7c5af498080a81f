package handlers

import "taskyard/task"

// Runners provides the state of this server's runners. It never waits for a
// program.
type Runners interface {
	Runners() []task.RunnerInfo
	Refresh() // schedules probes of them
}

// runners lists the runners. Only admins see the paths of their programs.
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

// runner returns the info of an agent's runner, nil if there is none.
func (s *Server) runner(a task.Actor, name string) *task.RunnerInfo {
	for _, r := range s.runners(a) {
		if r.Name == name {
			return &r
		}
	}
	return nil
}

// enforcementGap describes what an agent with these tools could do beyond them
// under a runner, as a sentence, or returns "".
func (s *Server) enforcementGap(runner string, tools []string) string {
	if s.opt.EnforcementGap == nil {
		return ""
	}
	return s.opt.EnforcementGap(runner, tools)
}

// enforcement returns each tool and limit that a run requests, and whether its
// runner enforces it; nil without a spec.
func (s *Server) enforcement(spec *task.Spec) []task.Enforcement {
	if spec == nil || s.opt.Enforces == nil {
		return nil
	}
	return s.opt.Enforces(*spec)
}

// unenforced describes which requirements of a run its runner cannot enforce.
func (s *Server) unenforced(r *task.Run) string {
	if r.Spec == nil {
		return ""
	}
	return s.enforcementGap(r.Spec.Runner, r.Spec.Tools)
}
