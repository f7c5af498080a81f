package service

import (
	"context"
	"errors"

	"taskyard/db"
	"taskyard/task"
)

// checkReferences checks owner, project and blockers of a new task, and returns
// the blockers in order. It reports all that is unknown at once.
func (s *Service) checkReferences(rx *db.Rx, a task.Actor, in task.New) ([]task.ID, error) {
	var owner error
	if in.Owner != "" {
		owner = s.checkOwner("owner", in.Owner, in.Status)
	}
	_, project := projectFor(rx, in.Project)
	blockers, err := s.checkBlockers(rx, a, "blockedBy", 0, nil, in.BlockedBy)
	return blockers, joinInvalid(owner, project, err)
}

// withReferences adds to the wrong fields of a new task what its references name
// that is unknown.
func (s *Service) withReferences(ctx context.Context, a task.Actor, in task.New, wrong error) error {
	return s.db.Read(ctx, func(rx *db.Rx) error {
		_, err := s.checkReferences(rx, a, in)
		return joinInvalid(wrong, err)
	})
}

// withPatchReferences is withReferences for a change of a task.
func (s *Service) withPatchReferences(ctx context.Context, p task.Patch, wrong error) error {
	return s.db.Read(ctx, func(rx *db.Rx) error {
		var owner, project error
		if p.Owner != nil {
			owner = s.checkOwner("owner", *p.Owner, task.Draft) // whether it may be started is not known yet
		}
		if p.Project != nil {
			_, project = projectFor(rx, *p.Project)
		}
		return joinInvalid(wrong, owner, project)
	})
}

// joinInvalid returns errors of fields as one. An error that is alone keeps its
// code; one that names no field comes before all others.
func joinInvalid(errs ...error) error {
	var p task.Problems
	var wrong []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		e, ok := errors.AsType[*task.Error](err)
		if !ok || len(e.AllFields()) == 0 {
			return err
		}
		wrong = append(wrong, err)
		for _, f := range e.AllFields() {
			p.Add(f.Field, "%s", f.Message)
		}
		p.AddMore(e.More)
	}
	if len(wrong) == 1 {
		return wrong[0]
	}
	return p.Err()
}
