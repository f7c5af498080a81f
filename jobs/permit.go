package jobs

import (
	"context"

	"taskyard/runner/supervise"
	"taskyard/task"
)

var _ supervise.Permitter = (*sink)(nil)

// Permit asks people before a tool call and waits for their decision. A run has
// one pending request at a time; others wait for their turn. The timeouts of
// the run are paused in the meantime. Therefore, after one request has expired,
// further ones are not asked: otherwise, a run that keeps asking would never
// end.
func (s *sink) Permit(ctx context.Context, req supervise.PermissionRequest) (supervise.PermissionAnswer, error) {
	select {
	case s.permissionSlot <- struct{}{}:
		defer func() { <-s.permissionSlot }()
	case <-ctx.Done():
		return supervise.PermissionAnswer{}, context.Cause(ctx)
	}
	if s.unanswered {
		return supervise.PermissionAnswer{Message: "Nobody decided on an earlier call in time, so " +
			"this one is denied, and so is every later one in this run"}, nil
	}
	_ = s.flush() // write the preceding events first
	svc := s.j.opt.Service
	p, err := svc.AskPermission(ctx, s.run.ID, s.run.Lease, task.Permission{Tool: req.Tool, Input: req.Input, Reason: req.Reason})
	if err == nil && p.IsPending() {
		s.log.Info("run asks for permission", "tool", p.Tool, "permission", p.N)
		p, err = svc.AwaitPermission(ctx, s.run.ID, p.N)
	}
	if err != nil {
		return supervise.PermissionAnswer{}, err
	}
	switch p.Decision {
	case task.PermissionAllowed:
		return supervise.PermissionAnswer{Allow: true}, nil
	case task.PermissionDenied:
		return supervise.PermissionAnswer{Message: "A person denied this call: " + p.Message}, nil
	case task.PermissionExpired:
		s.unanswered = true
		return supervise.PermissionAnswer{Message: "Nobody decided on this call in time, so it is denied"}, nil
	}
	return supervise.PermissionAnswer{}, task.Errorf(task.Conflict, task.CodeRunEnded, "%s", p.Outcome())
}
