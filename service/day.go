package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// Day is what the last hours brought, and what today has cost.
type Day struct {
	Hours  []task.StatRow // those in which something happened
	Today  task.Usage     // of the yard, since 00:00 UTC
	Budget task.Budget    // what a day may use; 0 is no bound
}

// BoardDay is a day with the lengths of the queues.
type BoardDay struct {
	Day
	Depths map[task.Time]task.Depth // by the hour's start, those in which somebody looked
}

// BoardDay reads what the tiles of the board show since a moment. Error: may
// not read.
func (s *Service) BoardDay(ctx context.Context, a task.Actor, since task.Time) (d BoardDay, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return d, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) (err error) {
		if d.Day, err = s.readDay(rx, since); err != nil {
			return err
		}
		d.Depths, err = rx.Depths("", since, rx.Now+1)
		return err
	})
	return d, err
}

func (s *Service) readDay(rx *db.Rx, since task.Time) (d Day, err error) {
	d.Budget = task.Budget{MaxTokens: s.cfg.Budget.MaxTokens, MaxCostUSD: s.cfg.Budget.MaxCostUSD}
	if d.Hours, err = rx.StatHours(task.StatFilter{From: since, To: rx.Now + 1}); err != nil {
		return d, err
	}
	d.Today, err = rx.UsedToday("")
	return d, err
}
