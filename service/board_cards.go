package service

import (
	"context"

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
