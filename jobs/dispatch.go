package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// dispatch starts queued runs as soon as they may start: after each commit that
// queues one or frees a slot, and when a backoff ends.
func (j *Jobs) dispatch() {
	for {
		later := j.startAll()
		select {
		case <-j.ctx.Done():
			return
		case <-j.opt.Service.Startable():
		case <-time.After(later):
		}
	}
}

// maxSleep bounds how long the dispatcher sleeps without a notification.
const maxSleep = 30 * time.Second

// startAll starts all runs that may start and returns when to look again.
func (j *Jobs) startAll() time.Duration {
	for {
		started, later := j.startOne()
		if !started {
			return later
		}
	}
}

// startOne starts one run, or returns how long to wait for one. The run counts
// as in flight before it is claimed, so that a concurrent stop waits for it.
func (j *Jobs) startOne() (started bool, later time.Duration) {
	j.mu.Lock()
	busy, closing := maps.Clone(j.busy), j.closing
	if closing || j.ctx.Err() != nil {
		j.mu.Unlock()
		return false, maxSleep
	}
	j.flights.Add(1)
	j.mu.Unlock()
	start, at, err := j.opt.Service.NextRun(j.ctx, busy)
	if start != nil {
		j.launch(start)
		return true, 0
	}
	j.flights.Done()
	switch {
	case err != nil && j.ctx.Err() == nil:
		j.log.Error("failed to claim a run", "error", err)
		return false, 5 * time.Second
	case err != nil || at == 0:
		return false, maxSleep
	}
	// The time may have passed since the database was read.
	return false, min(max(at.Sub(j.opt.Service.Now()), time.Millisecond), maxSleep)
}

// inFlight returns the tasks whose runs this process executes.
func (j *Jobs) inFlight() map[task.ID]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.busy)
}

// launch executes a run that already counts as in flight.
func (j *Jobs) launch(start *service.Start) {
	id, taskID := start.Run.ID, start.Run.TaskID
	ctx, cancel := context.WithCancelCause(j.runCtx)
	j.mu.Lock()
	j.busy[taskID] = true
	j.mu.Unlock()
	j.opt.Service.RegisterStop(id, func(cause error) { cancel(stopCause(cause)) })
	go func() {
		defer j.flights.Done()
		j.execute(ctx, cancel, start)
		cancel(nil)
		j.mu.Lock()
		delete(j.busy, taskID)
		j.mu.Unlock()
		j.opt.Service.UnregisterStop(id)
	}()
}

func stopCause(cause error) error {
	switch {
	case errors.Is(cause, service.ErrStopTaskClosed):
		return supervise.ErrTaskClosed
	case errors.Is(cause, service.ErrStopCutOff):
		return fmt.Errorf("%w: it is cut off from the database (%w)", supervise.ErrShutdown, supervise.ErrLeaseLost)
	case errors.Is(cause, service.ErrStopDone):
		return supervise.ErrLeaseLost
	case errors.Is(cause, service.ErrStopReported):
		return fmt.Errorf("%w here: its receiver reported its end", supervise.ErrCanceled)
	}
	return supervise.ErrCanceled
}

// execute executes one run and records its outcome.
func (j *Jobs) execute(ctx context.Context, cancel context.CancelCauseFunc, start *service.Start) {
	log := j.log.With("run_id", start.Run.ID, "task_id", start.Run.TaskID, "agent", start.Run.Agent)
	log.Info("run started", "cause", start.Run.Cause)
	sink := newSink(j, start.Run, log)
	beat := j.beat(ctx, cancel, start.Run)
	out := j.outcome(ctx, start, sink)
	sink.ReleaseTurn()
	log.Info("run ended", "status", out.Status, "phase", out.Phase, "reason", out.Reason)
	j.finish(start.Run, out, sink)
	sink.close()
	beat()
}

func (j *Jobs) outcome(ctx context.Context, start *service.Start, sink *sink) supervise.Outcome {
	r, ok := start.Runner.Executor.(supervise.Runner)
	if !ok {
		return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "no runner " +
			start.Spec.Runner + " is configured", Permanent: true}
	}
	heartbeats, stopListening := j.heartbeats(r, start.Run.ID)
	defer stopListening()
	waits, stopFollowing := j.waits(ctx, start.Run.ID)
	defer stopFollowing()
	inbox, stopMessages := j.inbox(sink)
	defer stopMessages()
	folders, err := j.opt.Service.RunFolders(context.WithoutCancel(ctx), start.Run)
	if err != nil {
		j.log.Error("failed to find the folders of the run", "run_id", start.Run.ID, "error", err)
	}
	earlier, err := j.opt.Service.Conversation(context.WithoutCancel(ctx), start.Run)
	if err != nil {
		j.log.Error("failed to read the conversation of the former run", "run_id", start.Run.ID, "error", err)
	}
	spec := supervise.Spec{
		Earlier: earlier,
		Lease:   start.Run.Lease, Heartbeats: heartbeats, Waits: waits, RunID: start.Run.ID, RunFolders: folders, TaskID: start.Run.TaskID,
		Title: start.Run.TaskTitle, Attempt: start.Run.Attempt, Plan: start.Spec, URL: j.opt.URL, Token: start.Token,
		Inbox: inbox, Dir: j.runDir(start.Run), Secrets: j.opt.Secrets(), Unconfined: j.opt.Unconfined,
	}
	if start.Run.Session != "" {
		spec.Session, spec.Former = start.Run.Session, spec.Dir
	}
	out, err := runner.Execute(ctx, r, spec, sink)
	if err != nil && !task.IsCode(err, task.CodeStaleLease) { // no error if the run was ended while its program started
		j.log.Error("supervisor failed", "run_id", start.Run.ID, "error", err)
	}
	return out
}

// heartbeats returns a channel of the heartbeats of a run, for runners that
// cannot observe their agent.
func (j *Jobs) heartbeats(r supervise.Runner, id task.ID) (<-chan struct{}, func()) {
	if !runner.IsRemote(r) {
		return nil, func() {}
	}
	sub := j.opt.Service.Hub().Subscribe("run:" + id.String())
	return sub.C, sub.Close
}

// waits sends whether a run waits for a delegated run, at each change, until
// stop is called.
func (j *Jobs) waits(ctx context.Context, id task.ID) (values <-chan bool, stop func()) {
	out, done := make(chan bool), make(chan struct{})
	go func() {
		for {
			now, changed := j.opt.Service.RunWaits(ctx, id)
			select {
			case out <- now:
			case <-done:
				return
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	}()
	return out, func() { close(done) }
}

// beat renews the lease of a run until the returned function is called. A run
// that lost its lease is stopped.
func (j *Jobs) beat(ctx context.Context, cancel context.CancelCauseFunc, r *task.Run) (stop func()) {
	beating, end := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for sleep.For(beating, j.opt.Beat) {
			err := j.opt.Service.RunHeartbeat(context.WithoutCancel(ctx), r.ID, r.Lease)
			if task.IsCode(err, task.CodeStaleLease) {
				cancel(supervise.ErrCanceled)
				return
			}
			if err != nil {
				j.log.Error("failed to store the heartbeat", "run_id", r.ID, "error", err)
			}
		}
	})
	return func() { end(); ended.Wait() }
}
