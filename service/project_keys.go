package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// ProjectKeys returns the keys of the projects that take tasks, in order: what
// every page offers. Error: may not read.
func (s *Service) ProjectKeys(ctx context.Context, a task.Actor) ([]string, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]string, error) { return rx.ProjectKeys() })
}
