package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/internal/sleep"
	"taskyard/task"
)

// Index brings the search of archived tasks, and what lists know of open ones,
// up to date. It reads what is new beside the writer and adds it in small writes,
// between which it leaves six sevenths of the writer's time to others: after a
// flood, search lags behind, not work. Both take turns, open tasks first: until
// they are indexed, lists of many read them all.
func (s *Service) Index(ctx context.Context) error {
	open := &indexing{s: s, name: "lists of open tasks", next: s.indexOpen, state: (*db.Rx).OpenIndexState}
	archived := &indexing{s: s, name: "search", next: s.indexArchived, state: (*db.Rx).IndexState}
	for busy := true; busy; {
		busy = false
		for _, x := range []*indexing{open, archived} {
			more, err := x.next(ctx)
			if err == nil {
				err = x.logProgress(ctx, more)
			}
			if err != nil {
				return err
			}
			busy = busy || more
		}
	}
	return nil
}

// indexOpen makes the next writes for open tasks, as soon as enough of them have
// changed, and reports whether there were any.
func (s *Service) indexOpen(ctx context.Context) (bool, error) {
	list, err := read(ctx, s, (*db.Rx).ToOpenTexts)
	for _, w := range list {
		start := s.config().Now()
		if err := change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.WriteOpenTexts(w) }); err != nil {
			return true, err
		}
		if err := s.leaveTime(ctx, start); err != nil {
			return true, err
		}
	}
	return len(list) > 0, err
}

// indexArchived makes the next writes for archived tasks and reports whether
// there are more. What others write meanwhile comes at its next turn: a commit of
// the search beside each of theirs would have them wait.
func (s *Service) indexArchived(ctx context.Context) (bool, error) {
	list, err := read(ctx, s, (*db.Rx).ToIndex)
	for i, w := range list {
		start := s.config().Now()
		if err := change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.Index(w) }); err != nil {
			return true, err
		}
		if i+1 == len(list) && len(list) == 1 {
			continue // a moment's changes
		}
		if err := s.leaveTime(ctx, start); err != nil {
			return true, err
		}
	}
	return len(list) > 0 && list[len(list)-1].More, err
}

// indexing brings an index up to date.
type indexing struct {
	s             *Service
	name          string
	next          func(context.Context) (more bool, err error) // makes the next writes
	state         func(*db.Rx) (db.IndexState, error)
	loggedPercent int // per cent, in the log
}

// logProgress says in the log how far an index has come that is far behind.
func (x *indexing) logProgress(ctx context.Context, more bool) error {
	if !more {
		if x.loggedPercent > 0 {
			x.s.log.Info(x.name + ": the index is up to date")
		}
		x.loggedPercent = 0
		return nil
	}
	state, err := read(ctx, x.s, x.state)
	if p := Indexing(state); err == nil && p >= x.loggedPercent+10 {
		x.loggedPercent = p
		x.s.log.Info(x.name+": indexing", "percent", p, "behind", state.Behind)
	}
	return err
}

// leaveTime waits six times as long as a write took that began at start.
func (s *Service) leaveTime(ctx context.Context, start time.Time) error {
	sleep.For(ctx, 6*s.config().Now().Sub(start))
	return ctx.Err()
}

// indexBehind is from how many lines of the log on an index is said to be
// indexing: fewer are indexed within a moment.
const indexBehind = 5000

// Indexing is how many per cent an index holds, or 0 when it holds all but what
// came in the last moment.
func Indexing(state db.IndexState) int {
	if state.Behind <= indexBehind {
		return 0
	}
	return max(1, state.Percent())
}
