package service

import (
	"context"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// RequeueRun puts a run that our own stop cut back into the queue; its
// attempt does not count.
func (s *Service) RequeueRun(ctx context.Context, id task.ID, lease int64) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		return tx.requeue(r, "the server stopped")
	})
}

func (tx *txn) requeue(r *task.Run, why string) error {
	if r.ClosingAt != 0 {
		return tx.conclude(r, Finished{}) // nothing is left to be done
	}
	if err := tx.voidPermission(r); err != nil {
		return err
	}
	if err := tx.freeClaim(r); err != nil {
		return err
	}
	if err := tx.DropRunTokens(r.ID); err != nil {
		return err
	}
	if r.Session == "" { // the agent starts over
		if err := tx.RequeueRunMessages(r.ID); err != nil {
			return err
		}
	}
	if ok, err := tx.RequeueRun(r); err != nil || !ok {
		return errorOrEnded(r, err)
	}
	tx.signals.Queued = true
	return tx.runEvent(task.EvRunRequeued, r, changes{"why": why})
}

// Orphans returns the runs that a former process of this server left running.
func (s *Service) Orphans(ctx context.Context) ([]*task.Run, error) {
	list, err := read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.Running() })
	return slices.DeleteFunc(list, func(r *task.Run) bool { return !s.Executed(r) }), err
}

// Executed reports whether this server, or a former process of it, started a run last.
func (s *Service) Executed(r *task.Run) bool { return s.serverID() == "" || r.Server == s.serverID() }

// LeaseLost returns running runs whose lease has run out, or whose server is gone.
func (s *Service) LeaseLost(ctx context.Context) ([]*task.Run, error) {
	s.caughtUp(ctx)
	late, err := read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.LeaseLost() })
	if err != nil {
		return nil, err
	}
	stranded, err := s.ReleaseStranded(ctx)
	for _, r := range stranded {
		if !slices.ContainsFunc(late, func(l *task.Run) bool { return l.ID == r.ID }) {
			late = append(late, r)
		}
	}
	return late, err
}

// lostRun is the end of a run that gave no word of it.
func lostRun(reason string) Finished {
	return Finished{State: task.State{Status: task.RunFailed, Phase: task.PhaseLost}, Reason: reason}
}

// LoseRun ends a run whose process is gone without a word, and tries again if
// attempts are left.
func (s *Service) LoseRun(ctx context.Context, r *task.Run, reason string) error {
	return s.FinishRun(ctx, r.ID, r.Lease, lostRun(reason))
}

// LoseLate is LoseRun for a run whose lease ran out. Errors: stale lease, also
// when the run has sent a heartbeat since it was looked at.
func (s *Service) LoseLate(ctx context.Context, r *task.Run, reason string) error {
	return s.finishRun(ctx, r.ID, r.Lease, lostRun(reason), func(tx *txn, now *task.Run) error {
		stranded := false
		if tx.s.serverID() != "" {
			var err error
			if stranded, err = tx.IsStranded(now.Server); err != nil {
				return err
			}
		}
		if now.LeaseExpires > tx.Now && !stranded {
			return task.Errorf(task.Conflict, task.CodeStaleLease, "The lease of run %d has been renewed", r.ID)
		}
		return nil
	})
}

// RunSession records the conversation of a run's program and the folder that
// holds it, for the next start to continue from should this one be cut. Error:
// stale lease.
func (s *Service) RunSession(ctx context.Context, id task.ID, lease int64, session, folder string) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil || len(session) > task.MaxSession {
			return err
		}
		_, err = tx.SetSession(r.ID, lease, session, folder)
		return err
	})
}
