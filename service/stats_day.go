package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// BoardDay reads what the tiles of the board show. Error: may not read.
func (s *Service) BoardDay(ctx context.Context, a task.Actor) (d task.BoardDay, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return d, err
	}
	r, err := s.recent.get(ctx, s, readRecent)
	if err != nil {
		return d, err
	}
	d, err = s.day.get(ctx, s, func(rx *db.Rx) (d task.BoardDay, err error) {
		since := task.StatDay(rx.Now)
		if d.DayStats, err = s.readDay(rx, since); err != nil {
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

func (s *Service) readDay(rx *db.Rx, since task.Time) (d task.DayStats, err error) {
	d.Budget = s.config().Budget
	if d.Hours, err = s.pastHours.since(rx, since); err != nil {
		return d, err
	}
	d.Today, err = rx.UsedToday("")
	return d, err
}

// pastHours keeps the sums of the hours before the present one, which hardly
// ever change: the tiles of every page would add up a day of all agents again.
type pastHours struct {
	mu    sync.Mutex
	until task.Time // start of the present hour; 0: nothing is kept
	read  task.Time
	rows  []task.StatRow
}

// maxDay is how far back the tiles reach at most: to midnight in the zone of
// a person, on a day that has an hour more.
const maxDay = 25 * time.Hour

// since returns the sums by hour from a moment within maxDay until now.
func (p *pastHours) since(rx *db.Rx, from task.Time) ([]task.StatRow, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hour := rx.Now - rx.Now%task.Hour
	if age := rx.Now.Sub(p.read); p.until != hour || age < 0 || age >= time.Minute {
		rows, err := rx.StatHours(task.StatFilter{From: hour.Add(-maxDay), To: hour})
		if err != nil {
			return nil, err
		}
		p.until, p.read, p.rows = hour, rx.Now, rows
	}
	past := p.rows
	for len(past) > 0 && past[0].Hour < from {
		past = past[1:]
	}
	now, err := rx.StatHours(task.StatFilter{From: max(from, hour), To: rx.Now + 1})
	return slices.Concat(past, now), err
}

// forget drops the cached hours, because a transaction changed past ones.
func (p *pastHours) forget() {
	p.mu.Lock()
	p.until = 0
	p.mu.Unlock()
}
