package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Index brings the full-text search of archived and then of open tasks up to
// date. It reads what is new beside the writer and adds it in small writes,
// between which it leaves six sevenths of the writer's time to others: after a
// flood, search lags behind, not work.
func (s *Service) Index(ctx context.Context) error {
	if err := s.indexArchived(ctx); err != nil {
		return err
	}
	return s.indexOpen(ctx)
}

// indexOpen does it for open tasks, as soon as enough of them have changed.
func (s *Service) indexOpen(ctx context.Context) error {
	for {
		list, err := read(ctx, s, (*db.Rx).ToOpenTexts)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, w := range list {
			start := s.config().Now()
			if err := change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.WriteOpenTexts(w) }); err != nil {
				return err
			}
			if err := s.leaveTime(ctx, start); err != nil {
				return err
			}
		}
	}
}

func (s *Service) indexArchived(ctx context.Context) error {
	told := 0 // per cent, in the log
	for {
		list, err := read(ctx, s, (*db.Rx).ToIndex)
		if err != nil || len(list) == 0 {
			if told > 0 && err == nil {
				s.log.Info("search is up to date")
			}
			return err
		}
		for i, w := range list {
			start := s.config().Now()
			if err := change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.Index(w) }); err != nil {
				return err
			}
			if i+1 == len(list) && len(list) == 1 {
				continue // a moment's changes
			}
			if err := s.leaveTime(ctx, start); err != nil {
				return err
			}
		}
		state, err := s.IndexState(ctx)
		if err != nil {
			return err
		}
		if p := state.Percent(); state.Behind > indexBehind && p >= told+10 {
			told = p
			s.log.Info("search is indexing", "percent", p, "behind", state.Behind)
		}
	}
}

// leaveTime waits six times as long as a write took that began at start.
func (s *Service) leaveTime(ctx context.Context, start time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(6 * s.config().Now().Sub(start)):
		return nil
	}
}

// indexBehind is from how many lines of the log on the search is
// said to be indexing: fewer are indexed within a moment.
const indexBehind = 5000

// IndexState returns how far the search has come.
func (s *Service) IndexState(ctx context.Context) (db.IndexState, error) {
	return read(ctx, s, (*db.Rx).IndexState)
}

// indexing is how many per cent of the history a search finds, or 0 when it
// finds all but what came in the last moment.
func indexing(rx *db.Rx) (percent int, err error) {
	state, err := rx.IndexState()
	if err != nil || state.Behind <= indexBehind {
		return 0, err
	}
	return max(1, state.Percent()), nil
}
