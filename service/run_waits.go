package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// runWait is what this server knows of the calls by which a run waits for what
// it delegated: while there are some its timeouts are paused. The run's row
// knows of those that wait on another server than the one that executes it.
type runWait struct {
	calls   int
	since   task.Time // from when on, while there are calls
	changed broadcast // of the first call that begins, or the last that ends, on any server
}

// waitState returns the state of a run; s.mu is held.
func (s *Service) waitState(run task.ID) *runWait {
	w := s.runWaits[run]
	if w == nil {
		w = &runWait{}
		s.runWaits[run] = w
	}
	return w
}

// RunWaits reports whether a run waits for what it delegated, and returns a
// channel that is closed when that may have changed.
func (s *Service) RunWaits(ctx context.Context, run task.ID) (waits bool, changed <-chan struct{}) {
	s.mu.Lock()
	changed = s.waitState(run).changed.listen() // before the look: what changes afterwards is told
	s.mu.Unlock()
	waits, err := s.waitingSince(run) != 0, error(nil)
	if !waits && s.serverID() != "" {
		waits, err = read(ctx, s, func(rx *db.Rx) (bool, error) { return s.waitsAnywhere(rx, run) })
	}
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "not known whether a run waits on another server", "run_id", run, "error", err)
	}
	return waits, changed
}

// waitingSince returns since when calls of a run wait on this server, 0 while none do.
func (s *Service) waitingSince(run task.ID) task.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.runWaits[run]; w != nil && w.calls > 0 {
		return w.since
	}
	return 0
}

// waitsAnywhere reports whether a run waits, on this server or another.
func (s *Service) waitsAnywhere(rx *db.Rx, run task.ID) (bool, error) {
	if s.waitingSince(run) != 0 {
		return true, nil
	}
	others, err := s.waitsElsewhere(rx, run)
	return len(others) > 0, err
}

// waitsElsewhere returns since when calls of a run wait on other servers, by
// these.
func (s *Service) waitsElsewhere(rx *db.Rx, run task.ID) (map[string]task.Time, error) {
	this := s.cluster.self.Load()
	if this == nil {
		return nil, nil
	}
	others, err := rx.RunWaits(run)
	delete(others, this.Process())
	return others, err
}

// beginWait records that a call of a run waits for what the run delegated. end
// adds the time to what the run has waited.
func (s *Service) beginWait(run task.ID) (end func()) {
	ctx := context.Background()
	if s.countWait(run, 1) != 0 && s.serverID() != "" {
		r, err := read(ctx, s, func(rx *db.Rx) (*task.Run, error) { return rx.Run(run) })
		if err == nil && !s.executes(r) {
			err = change(ctx, s, task.SystemActor, func(tx *txn) error { _, err := tx.shareWait(run); return err })
		}
		if err != nil {
			s.log.Error("the other servers do not know that a run waits", "run_id", run, "error", err)
		}
	}
	return func() {
		since := s.countWait(run, -1)
		if since == 0 {
			return
		}
		// The run may have ended meanwhile; then nothing is left to add to.
		err := change(ctx, s, task.SystemActor, func(tx *txn) error {
			until, err := tx.shareWait(run)
			if err != nil {
				return err
			}
			return tx.AddWaited(run, max(0, until-since))
		})
		if err != nil {
			s.log.Error("failed to record the wait of a run", "run_id", run, "error", err)
		}
	}
}

// executes reports whether this server executes a run, so that no other one needs
// to know whether it waits.
func (s *Service) executes(r *task.Run) bool { return r.Worker == 0 && r.Server == s.serverID() }

// shareWait tells the other servers whether a run waits on this one, unless this
// one executes it. It returns since when the run waits on another one, which adds
// the time from then on, or else the present.
func (tx *txn) shareWait(run task.ID) (task.Time, error) {
	this := tx.s.cluster.self.Load()
	if this == nil {
		return tx.Now, nil
	}
	r, err := tx.Run(run)
	if err != nil || tx.s.executes(r) {
		return tx.Now, err
	}
	waits, err := tx.s.waitsElsewhere(&tx.Rx, run)
	if err != nil {
		return tx.Now, err
	}
	until := tx.Now
	for _, since := range waits {
		until = min(until, since)
	}
	// As it is now: of two such writes the last one is right, in any order.
	if since := tx.s.waitingSince(run); since != 0 {
		if waits == nil {
			waits = map[string]task.Time{}
		}
		waits[this.Process()] = since
	}
	tx.signals.Waits = append(tx.signals.Waits, run)
	return until, tx.SetRunWaits(run, waits)
}

// notifyWaits wakes everyone who watches whether these runs wait.
func (s *Service) notifyWaits(runs []task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range runs {
		if w := s.runWaits[id]; w != nil {
			w.changed.signal()
		}
	}
}

// notifyAllWaits is notifyWaits for all runs.
func (s *Service) notifyAllWaits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.runWaits {
		w.changed.signal()
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
// waits on this server if that was the first one to begin or the last to end,
// else 0.
func (s *Service) countWait(run task.ID, by int) (since task.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by < 0 && s.runWaits[run] == nil {
		return 0 // the run has ended
	}
	w := s.waitState(run)
	w.calls += by
	switch {
	case by > 0 && w.calls == 1:
		w.since = s.Now()
	case by < 0 && w.calls == 0:
	default:
		return 0
	}
	w.changed.signal()
	return w.since
}
