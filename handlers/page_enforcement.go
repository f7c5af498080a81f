package handlers

import "taskyard/task"

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
