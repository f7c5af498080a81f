package jobs

import (
	"context"
	"errors"
	"time"

	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

const (
	firstRetry  = 50 * time.Millisecond // before storing the end of a run again
	lastRetry   = 5 * time.Second
	logInterval = time.Minute

	// transcriptTries is how often the end of a run waits for the lines before it.
	transcriptTries = 5
)

// finish stores the end of a run, however long the database is busy, full or
// failing; the run keeps its lease and its slot in the meantime. When the
// server stops, it retries for another stopLimit; after that, the next server
// finds the run lost.
func (j *Jobs) finish(r *task.Run, out supervise.Outcome, s *sink) {
	var stopping, logged time.Time
	closing := j.runCtx.Done()
	for try, wait := 1, firstRetry; ; try, wait = try+1, min(2*wait, lastRetry) {
		err := s.flush() // what is left of the transcript comes before the end
		if err == nil || try > transcriptTries {
			err = j.store(r, out)
		}
		if err == nil {
			return
		}
		if time.Since(logged) >= logInterval {
			s.log.Error("failed to store the end of the run; trying again", "error", err)
			logged = time.Now()
		}
		if j.runCtx.Err() != nil {
			if closing = nil; stopping.IsZero() {
				stopping = time.Now()
			}
			if wait = min(wait, stopLimit/10); time.Since(stopping) > stopLimit {
				s.log.Error("end of run lost", "error", err)
				return
			}
		}
		select {
		case <-time.After(wait):
		case <-closing:
		}
	}
}

// store tries to write the end of a run. If the run has already been ended, it
// changes nothing. An error means that a retry may help.
func (j *Jobs) store(r *task.Run, out supervise.Outcome) (err error) {
	ctx := context.Background()
	if out.Status == task.RunCanceled && out.Phase == task.PhaseShutdown {
		err = j.opt.Service.RequeueRun(ctx, r.ID, r.Lease)
	} else {
		err = j.opt.Service.FinishRun(ctx, r.ID, r.Lease, service.Finished{
			State: task.State{Status: out.Status, Phase: out.Phase}, Reason: out.Reason, Summary: out.Summary,
			Artifacts: out.Artifacts, Usage: out.Usage, Permanent: out.Permanent, After: out.After, Work: out.Work,
		})
	}
	if known, ok := errors.AsType[*task.Error](err); ok && known.Kind == task.Conflict {
		return j.recordWork(ctx, r, out.Work)
	}
	return err
}
