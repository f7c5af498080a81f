package service

import (
	"context"

	"taskyard/task"
)

// RunCondensing notes that the agent of a run ended well and its summary is
// being made. Error: stale lease.
func (s *Service) RunCondensing(ctx context.Context, id task.ID, lease int64) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		if ok, err := tx.MoveRun(r, task.State{Status: task.RunRunning, Phase: task.PhaseCondensing}); err != nil || !ok {
			return orEnded(r, err)
		}
		tx.news.Topics = append(tx.news.Topics, "run:"+id.String(), "task:"+r.TaskID.String(), "scheduler")
		return nil
	})
}
