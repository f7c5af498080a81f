package service

import (
	"cmp"
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// maxStatDays bounds what one call sums up.
const maxStatDays = 400

// StatHours returns the sums of each hour that had any activity, in order. A
// zero To is now, a zero From 24 hours before To; both are rounded to whole
// hours, UTC. Errors: may not read, over 400 days.
func (s *Service) StatHours(ctx context.Context, a task.Actor, f task.StatFilter) ([]task.StatRow, error) {
	return s.stats(ctx, a, f, (*db.Rx).StatHours)
}

// StatGroups is StatHours by agent and model instead of by hour. Tasks are
// with their owner and the model "".
func (s *Service) StatGroups(ctx context.Context, a task.Actor, f task.StatFilter) ([]task.StatRow, error) {
	return s.stats(ctx, a, f, (*db.Rx).StatGroups)
}

func (s *Service) stats(ctx context.Context, a task.Actor, f task.StatFilter,
	sum func(*db.Rx, task.StatFilter) ([]task.StatRow, error),
) ([]task.StatRow, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	f.To = cmp.Or(f.To, s.Now()+1)
	f.From = cmp.Or(f.From, f.To.Add(-24*time.Hour))
	if f.To < f.From || f.To.Sub(f.From) > maxStatDays*24*time.Hour {
		return nil, task.FieldErrorf("from", "must be at most %d days before to, and not after it", maxStatDays)
	}
	f.From -= f.From % task.Time(time.Hour/time.Millisecond)
	return read(ctx, s, func(rx *db.Rx) ([]task.StatRow, error) { return sum(rx, f) })
}
