package handlers

import "taskyard/task"

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

// enforcementGap says what an agent with these tools could do beyond them under a
// runner, as a sentence, or "".
func (s *Server) enforcementGap(runner string, tools []string) string {
	if s.opt.EnforcementGap == nil {
		return ""
	}
	return s.opt.EnforcementGap(runner, tools)
}

// enforcement is each tool and limit that a run asks for, and whether its
// runner enforces it; nothing without a spec.
func (s *Server) enforcement(spec *task.Spec) []task.Enforcement {
	if spec == nil || s.opt.Enforces == nil {
		return nil
	}
	return s.opt.Enforces(*spec)
}

// unenforced is what the runner of a run cannot enforce of what was asked for.
func (s *Server) unenforced(r *task.Run) string {
	if r.Spec == nil {
		return ""
	}
	return s.enforcementGap(r.Spec.Runner, r.Spec.Tools)
}
