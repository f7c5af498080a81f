package service

import (
	"context"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// activity says by task what its running run does now, in one line of at most
// 200 characters. The map is read-only.
func (s *Service) activity(ctx context.Context) (map[task.ID]string, error) {
	return s.activities.get(ctx, s, func(rx *db.Rx) (map[task.ID]string, error) {
		list, err := rx.RunActivities()
		m := make(map[task.ID]string, len(list))
		for _, d := range list {
			line, _, _ := strings.Cut(strings.TrimSpace(d.Text), "\n")
			m[d.Task] = line
		}
		return m, err
	})
}
