package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// Day is what the last hours brought, and what today has cost.
type Day struct {
	Hours  []task.StatRow // those in which something happened
	Today  task.Usage     // of the instance, since 00:00 UTC
	Budget task.Budget    // what a day may use; 0 is no bound
}

// BoardDay is what the tiles of the board show.
type BoardDay struct {
	Day                                  // of the last 24 hours, the present one included
	Depths      map[task.Time]task.Depth // of those hours in which somebody looked, by their start
	Done24h     int
	MedianRunMs int64     // of the last 100 completed runs, 0 for none
	Waiting     int       // active tasks that nobody works on
	OldestAt    task.Time // creation of the oldest of them, 0 for none
}

// BoardDay reads what the tiles of the board show. Error: may not read.
func (s *Service) BoardDay(ctx context.Context, a task.Actor) (d BoardDay, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return d, err
	}
	r, err := s.recent.get(ctx, s, readRecent)
	if err != nil {
		return d, err
	}
	d, err = s.day.get(ctx, s, func(rx *db.Rx) (d BoardDay, err error) {
		since := task.StatDay(rx.Now)
		if d.Day, err = s.readDay(rx, since); err != nil {
			return d, err
		}
		d.Depths, err = rx.Depths("", since, rx.Now+1)
		return d, err
	})
	if err != nil {
		return d, err
	}
	d.Done24h, d.MedianRunMs = r.done, r.medianMs
	o, err := s.overview(ctx)
	for _, l := range o.Loads {
		d.Waiting += l.Queued
		if l.OldestAt != 0 && (d.OldestAt == 0 || l.OldestAt < d.OldestAt) {
			d.OldestAt = l.OldestAt
		}
	}
	return d, err
}

func (s *Service) readDay(rx *db.Rx, since task.Time) (d Day, err error) {
	d.Budget = s.config().Budget
	if d.Hours, err = s.pastHours.since(rx, since); err != nil {
		return d, err
	}
	d.Today, err = rx.UsedToday("")
	return d, err
}
