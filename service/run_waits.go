package service

import (
	"context"

	"taskyard/task"
)

// runWait is what is known of the calls by which a run waits for what it
// delegated: while there are some its timeouts are paused.
type runWait struct {
	calls   int
	since   task.Time     // from when on, while there are calls
	changed chan struct{} // is closed when the first call begins or the last ends
}

// waitOf returns the state of a run; s.mu is held.
func (s *Service) waitOf(run task.ID) *runWait {
	w := s.runWaits[run]
	if w == nil {
		w = &runWait{changed: make(chan struct{})}
		s.runWaits[run] = w
	}
	return w
}

// RunWaits reports whether a run waits for what it delegated, and returns a
// channel that is closed when that changes.
func (s *Service) RunWaits(run task.ID) (waits bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waitOf(run)
	return w.calls > 0, w.changed
}

// beginWait notes that a call of a run waits for what the run delegated. end
// adds the time to what the run has waited.
func (s *Service) beginWait(run task.ID) (end func()) {
	s.countWait(run, 1)
	return func() {
		since := s.countWait(run, -1)
		if since == 0 {
			return
		}
		// The run may have ended meanwhile; then nothing is left to add to.
		err := change(context.Background(), s, task.SystemActor, func(tx *txn) error {
			return tx.AddWaited(run, max(0, tx.Now-since))
		})
		if err != nil {
			s.log.Error("failed to record the wait of a run", "run_id", run, "error", err)
		}
	}
}

// forgetWaits forgets runs that have ended.
func (s *Service) forgetWaits(runs []task.ID) {
	if len(runs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range runs {
		delete(s.runWaits, id)
	}
}

// countWait counts a waiting call more or less, and returns since when the run
// has waited if that was the last one, else 0.
func (s *Service) countWait(run task.ID, by int) (since task.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by < 0 && s.runWaits[run] == nil {
		return 0 // the run has ended
	}
	w := s.waitOf(run)
	w.calls += by
	switch {
	case by > 0 && w.calls == 1:
		w.since = s.Now()
	case by < 0 && w.calls == 0:
		since = w.since
	default:
		return 0
	}
	close(w.changed)
	w.changed = make(chan struct{})
	return since
}
