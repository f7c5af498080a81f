package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// StreamQuery narrows the stream of a task: what was said, what was changed,
// what ran.
type StreamQuery struct {
	Messages, Events, Runs bool
	SkipEvents             []string // kinds of events that are left out
	After, Before          task.StreamMark
	Limit                  int // of each sort; 1 to 500
}

// Stream is a part of what happened to a task: of each sort the newest
// entries that the query leaves, oldest first; the counts are of the whole
// stream and end at 1,000.
type Stream struct {
	Messages                        []task.Message
	Events                          []task.Event
	Runs                            []*task.Run
	AllMessages, AllEvents, AllRuns int

	Cut bool // there are less than the limit of a sort, as an answer holds no more
}

// Stream reads what happened to a task. Errors: unknown id, bad limit.
func (s *Service) Stream(ctx context.Context, a task.Actor, id task.ID, q StreamQuery) (out Stream, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return out, err
	}
	if q.Limit < 1 || q.Limit > 500 {
		return out, task.FieldErrorf("limit", "must be 1 to 500")
	}
	if q.SkipEvents == nil {
		q.SkipEvents = []string{}
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if _, err := rx.TaskRow(id); err != nil {
			return err
		}
		return out.read(rx, id, q, task.BudgetFromContext(ctx))
	})
	return out, err
}

func (o *Stream) read(rx *db.Rx, id task.ID, q StreamQuery, budget *task.AnswerBudget) (err error) {
	if o.AllMessages, o.AllEvents, o.AllRuns, err = rx.StreamCounts(id, q.SkipEvents, pageCounted); err != nil {
		return err
	}
	if q.Messages {
		if o.Messages, err = rx.LastMessages(id, q.After.Message, q.Before.Message, q.Limit); err != nil {
			return err
		}
		o.Cut = budget.Cut()
	}
	if q.Events {
		if o.Events, err = rx.LastEventsBut(id, q.After.Event, q.Before.Event, q.SkipEvents, q.Limit); err != nil {
			return err
		}
		o.Cut = o.Cut || budget.Cut()
	}
	if q.Runs {
		o.Runs, err = rx.TaskRuns(id, q.After.Run, q.Before.Run, q.Limit)
		o.Cut = o.Cut || budget.Cut()
	}
	return err
}
