package service

import (
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// reported returns the run that a report is about. Workers report on the runs
// that they execute, receivers of webhooks on the run of their token; the
// fence keeps out those whose lease is over. Errors: neither of them, stale
// lease.
func (tx *txn) reported(id task.ID, h task.LeaseRef) (*task.Run, error) {
	r, err := tx.Run(id)
	if err != nil {
		return nil, err
	}
	switch a := tx.actor; {
	case a.May(task.Execute) && a.TokenID != 0:
		if r.Worker != a.TokenID {
			return nil, staleLeaseError(r)
		}
	case a.RunID == id && tx.s.isWebhook(r):
	default:
		return nil, task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s (%s) may not report on run %d: only the worker that executes it may, or the "+
				"receiver of its webhook with the token of the run", a.Name, a.Role, id)
	}
	if r.Lease != h.Lease || r.Attempt != h.Attempt {
		return nil, staleLeaseError(r)
	}
	return r, nil
}

// isWebhook reports whether a run is with the receiver of a webhook.
func (s *Service) isWebhook(r *task.Run) bool {
	return r.Worker == 0 && s.runTraits(r).Receiver
}

func staleLeaseError(r *task.Run) error {
	return task.Errorf(task.Conflict, task.CodeStaleLease, "Run %d is %s and no longer held under this lease", r.ID, r.State())
}

// reportedRunning is reported for runs that have not ended.
func (tx *txn) reportedRunning(id task.ID, h task.LeaseRef) (*task.Run, error) {
	r, err := tx.reported(id, h)
	if err == nil && r.Status != task.RunRunning {
		err = staleLeaseError(r)
	}
	return r, err
}

// ReportWorking records that the program of a run has its prompt. It may be
// repeated. Errors: may not report, stale lease.
func (s *Service) ReportWorking(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef) error {
	return change(WithIdempotency(ctx, nil), s, a, func(tx *txn) error {
		r, err := tx.reportedRunning(id, h)
		if err != nil || r.Phase != task.PhaseStarting {
			return err
		}
		return tx.enterPhaseLive(r, task.PhaseWorking)
	})
}

// ReportAlive renews the lease of a run and reports whether it continues, and
// whether it waits for what it delegated. For a worker the answer is held for
// wait, or until the run ends or waits other than the worker knows. Errors: may
// not report, stale lease.
func (s *Service) ReportAlive(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef, known bool,
	wait time.Duration,
) (task.Beat, error) {
	ctx = WithIdempotency(ctx, nil)
	beat, err := s.alive(ctx, a, id, h)
	if err != nil || beat.Cancel || !a.May(task.Execute) || wait <= 0 {
		return beat, err
	}
	// Only who holds the run may listen: anybody else would take the place of
	// its worker.
	told, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.listenForStop(id, cancel)()
	if r, err := read(ctx, s, func(rx *db.Rx) (*task.Run, error) { return rx.Run(id) }); err != nil ||
		r.Status != task.RunRunning || r.Lease != h.Lease {
		return s.alive(ctx, a, id, h) // it was stopped before anybody listened
	}
	over := time.After(min(wait, task.MaxWait))
	for {
		waits, changed := s.RunWaits(ctx, id)
		if waits != known {
			return s.alive(ctx, a, id, h)
		}
		beat.Waits = waits
		select {
		case <-over:
			return beat, nil
		case <-changed:
			continue
		case <-s.hub.Done():
			return beat, nil
		case <-told.Done():
		}
		if ctx.Err() != nil {
			return beat, nil // nobody hears the answer
		}
		return s.alive(ctx, a, id, h)
	}
}

func (s *Service) alive(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef) (task.Beat, error) {
	if a.May(task.Execute) {
		s.workers.heartbeat(a.TokenID, s.Now())
	}
	return mutate(ctx, s, a, func(tx *txn) (task.Beat, error) {
		r, err := tx.reported(id, h)
		switch {
		case err != nil:
			return task.Beat{}, err
		case r.Status.Final():
			return task.Beat{Cancel: true, Phase: r.Phase, Reason: r.Reason}, nil
		case r.Status != task.RunRunning:
			return task.Beat{}, staleLeaseError(r)
		}
		if tx.s.isWebhook(r) {
			tx.signals.Topics = append(tx.signals.Topics, "run:"+id.String()) // progress, for who watches over the receiver
		}
		waits, err := tx.s.waitsAnywhere(&tx.Rx, id)
		if err != nil {
			return task.Beat{}, err
		}
		return task.Beat{Waits: waits}, tx.beat(r)
	})
}

// listenForStop calls cancel when the run is stopped. Of two heartbeats
// at a time the later one hears it; a run of this process is left alone, for
// only workers listen. The returned function ends it.
func (s *Service) listenForStop(run task.ID, cancel context.CancelCauseFunc) (forget func()) {
	s.workerStops.Store(run, &cancel)
	return func() { s.workerStops.CompareAndDelete(run, &cancel) }
}

// ReportEvents adds events to a run's transcript. from is the number of the
// first one, counted from 1 at each start of the run: those that came before
// are passed over, so a report may be repeated. It returns the number of the
// next event. Errors: may not report, stale lease, a gap, too much.
func (s *Service) ReportEvents(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef,
	from int64, lines []task.Message,
) (next int64, err error) {
	var r *task.Run
	var unreported []task.Message // lines itself stays whole: a write may be run again
	next, err = mutate(WithIdempotency(ctx, nil), s, a, func(tx *txn) (int64, error) {
		if r, err = tx.reportedRunning(id, h); err != nil {
			return 0, err
		}
		known := r.ReportedEvents + 1 - from
		if known < 0 {
			return 0, task.FieldErrorf("from", "the next event is number %d, not %d: send the missing events first", r.ReportedEvents+1, from)
		}
		if unreported = lines[min(known, int64(len(lines))):]; len(unreported) == 0 {
			return r.ReportedEvents + 1, nil
		}
		size := 0
		for _, l := range unreported {
			size += len(l.Content) + len(l.Data) + 64
		}
		if r.ReportedBytes+int64(size) > task.MaxReported {
			return 0, task.FieldErrorf("events", "the transcript of this run is full: %d of %d bytes are used",
				r.ReportedBytes, task.MaxReported)
		}
		if err := tx.AddReportedEvents(id, len(unreported), size); err != nil {
			return 0, err
		}
		return r.ReportedEvents + 1 + int64(len(unreported)), tx.appendLines(r, unreported)
	})
	if err == nil && s.config().TaskTool.Verbose && r.Delegated() {
		s.logLines(ctx, r, unreported)
	}
	return next, err
}

// ReportEnd writes the end of a run. A repeat is answered like the first one.
// Errors: may not report, stale lease, a state that no runner may give.
func (s *Service) ReportEnd(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef, f Finished) error {
	return s.reportEnd(ctx, a, id, h, f.State, func(tx *txn, r *task.Run) error { return tx.conclude(r, f) }, f)
}

// ReportBack puts a run back into the queue: its worker stops. Its attempt does
// not count. Errors: as ReportEnd.
func (s *Service) ReportBack(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef) error {
	if !a.May(task.Execute) {
		return task.FieldErrorf("status", "must be completed or failed: only workers can return runs")
	}
	back := task.State{Status: task.RunPending, Phase: task.PhaseQueued}
	return s.reportEnd(ctx, a, id, h, back, func(tx *txn, r *task.Run) error { return tx.requeue(r, "the worker stopped") }, Finished{})
}

func (s *Service) reportEnd(ctx context.Context, a task.Actor, id task.ID, h task.LeaseRef,
	to task.State, end func(*txn, *task.Run) error, f Finished,
) error {
	var r *task.Run
	done := false
	err := change(WithIdempotency(ctx, nil), s, a, func(tx *txn) (err error) {
		if r, err = tx.reported(id, h); err != nil {
			return err
		}
		if done = r.State() == to; done {
			return nil // it was said before
		}
		if r.Status != task.RunRunning {
			return staleLeaseError(r)
		}
		if s.isWebhook(r) {
			tx.stopRun(id, ErrStopReported)
		}
		tx.actor = task.SystemActor
		return end(tx, r)
	})
	if err == nil && !done {
		s.logEnd(ctx, r, f)
	}
	return err
}
