package service

import (
	"context"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// readOutlines is Cards, in queue order, with nothing of each task but how it is
// drawn: status, work status, what it waits for, claim, failures and open run.
func (s *Service) readOutlines(ctx context.Context, f task.TaskFilter) (Page, error) {
	look := func() (p Page, err error) {
		err = s.db.Read(ctx, func(rx *db.Rx) error {
			p.Tasks, p.Next, err = rx.Outlines(f)
			return err
		})
		return p, err
	}
	if f.Query != "" || f.MinPriority != nil { // hardly ever asked twice
		return look()
	}
	return s.outlines.one(s.hub.Generation(), s.Now(), f, look)
}

// cardsByID returns the cards of the tasks that exist. Several callers may be
// given the same: they are read-only.
func (s *Service) cardsByID(ctx context.Context, ids []task.ID) (map[task.ID]*task.Task, error) {
	return s.byID.get(s.hub.Generation(), s.Now(), ids, func(missing []task.ID) (map[task.ID]*task.Task, error) {
		list, err := read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) { return rx.TasksByID(missing) })
		found := make(map[task.ID]*task.Task, len(list))
		for _, tk := range list {
			found[tk.ID] = tk
		}
		return found, err
	})
}

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
