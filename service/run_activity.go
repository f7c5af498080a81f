package service

import (
	"context"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// Doing says by task what its running run does now, in one line of at most
// 200 characters. The map is for reading alone. Error: may not read.
func (s *Service) Doing(ctx context.Context, a task.Actor) (map[task.ID]string, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return s.doing.get(ctx, s, func(rx *db.Rx) (map[task.ID]string, error) {
		list, err := rx.Doing()
		m := make(map[task.ID]string, len(list))
		for _, d := range list {
			line, _, _ := strings.Cut(strings.TrimSpace(d.Text), "\n")
			m[d.Task] = line
		}
		return m, err
	})
}
