package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/sleep"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// beatWait is how long the server may hold a heartbeat. Canceling a run ends
// the wait, so that its program is stopped at once.
const beatWait = 10 * time.Second

// stopTimeout bounds how long a stopping worker may take to end its programs
// and return their runs.
const stopTimeout = 20 * time.Second

// execution is one run on this machine.
type execution struct {
	w        *Worker
	run      *task.Leased
	log      *slog.Logger
	waits    chan bool       // whether the run waits for a delegated run
	revoked  context.Context // ends when the server no longer accepts reports of this run
	revoke   context.CancelFunc
	finished chan struct{} // closed when nothing of it is left here
	idle     chan struct{} // contains a value while the run waits for a delegated run
}

// execute executes one run and reports its end.
func (w *Worker) execute(ctx context.Context, leased *task.Leased) {
	log := w.log.With("run_id", leased.RunID, "task_id", leased.TaskID, "agent", leased.Spec.Agent)
	c := &execution{w: w, run: leased, log: log, waits: make(chan bool), finished: make(chan struct{}), idle: make(chan struct{}, 1)}
	c.revoked, c.revoke = context.WithCancel(context.Background())
	defer c.revoke()
	runs := ctx
	ctx, stop := context.WithCancelCause(ctx)
	var lent sync.WaitGroup
	defer lent.Wait()
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), supervise.ErrShutdown) {
			// The server may be unreachable for long: the lease then decides.
			time.AfterFunc(stopTimeout, c.revoke)
		}
	})()
	// Whichever report is rejected first: the server no longer accepts this
	// run's work.
	defer context.AfterFunc(c.revoked, func() {
		stop(supervise.ErrLeaseLost)
	})()
	defer w.used.take(leased)()
	c.log.Info("run started")
	beating, still := context.WithCancel(c.revoked)
	ended := make(chan struct{})
	go func() { defer close(ended); c.beat(beating, stop) }()
	defer c.takePlace()()
	lent.Go(func() { c.runDelegated(ctx, runs) })
	lines := newSink(c)
	out := c.outcome(ctx, lines)
	lines.close()
	c.finish(out)
	still()
	<-ended
	c.log.Info("run ended", "status", out.Status, "phase", out.Phase, "reason", out.Reason)
}

// takePlace stops what this worker still executes of the same task and waits
// for that: the server has ended that run, or was restored from a backup and
// starts it again. Both would work in the same folder. The returned function
// records the end of this one.
func (c *execution) takePlace() (leave func()) {
	for {
		previous, busy := c.w.placed.LoadOrStore(c.run.TaskID, c)
		if !busy {
			return func() { c.w.placed.Delete(c.run.TaskID); close(c.finished) }
		}
		before := previous.(*execution)
		before.revoke()
		<-before.finished
	}
}

// runDelegated executes delegated runs in the run's own slot while it waits for them: a
// worker without another slot would never execute them.
func (c *execution) runDelegated(ctx, runs context.Context) {
	offer := map[string]any{"parentRun": c.run.RunID}
	maps.Copy(offer, c.w.offer)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.idle:
		}
		run, err := c.w.ask(ctx, offer)
		if run != nil {
			c.w.execute(runs, run)
		} else if err != nil && ctx.Err() == nil {
			c.log.Warn("cannot ask for what the run delegated", "error", err)
		}
	}
}

func (c *execution) outcome(ctx context.Context, lines supervise.Sink) supervise.Outcome {
	l := c.run
	r := c.w.runner(l.Spec.Runner)
	if r == nil {
		return supervise.Outcome{
			Status: task.RunFailed, Phase: task.PhaseError,
			Reason: "the worker has no runner " + l.Spec.Runner, Permanent: true,
		}
	}
	dir := filepath.Join(c.w.dir, task.StartFolder(l.RunID, l.Lease).Name)
	if _, err := os.Lstat(dir); err == nil { // it is from another server: every attempt has its own name
		return supervise.Failed(task.PhaseError, "The worker has a folder "+dir+", which a run of another server left: "+
			"start the worker with a folder of its own for this server (--dir), or remove that one")
	}
	out, err := runner.Execute(ctx, r, supervise.Spec{
		RunID: l.RunID, RunFolders: l.RunFolders, TaskID: l.TaskID, Attempt: l.Attempt, Lease: l.Lease, Plan: l.Spec, Waits: c.waits,
		URL: c.w.client.URL, Token: l.Token,
		Dir: dir, Secrets: []string{c.w.client.Token},
	}, lines)
	if err != nil && c.revoked.Err() == nil { // ending the run while its program starts is not a failure
		c.log.Error("supervisor failed", "error", err)
	}
	return out
}

func (c *execution) leaseRef() task.LeaseRef {
	return task.LeaseRef{Attempt: c.run.Attempt, Lease: c.run.Lease}
}

// report repeats a report until the server accepts or rejects it, or this run
// is lost; the run continues while the server is unreachable. The error is the
// rejection.
func (c *execution) report(ctx context.Context, what string, in, out any) error {
	pause := newBackoff()
	for {
		err := c.w.client.Do(ctx, http.MethodPost, "/api/worker/runs/"+c.run.RunID.String()+"/"+what, in, out)
		var no *client.ResponseError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &no) && permanent(no):
			if no.Status != http.StatusUnprocessableEntity {
				c.revoke()
			}
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		c.log.Warn("server did not accept a report; trying again", "report", what, "error", err)
		pause.wait(ctx)
	}
}

// beat renews the lease, and stops the run if the server requests that or has
// assigned it to another worker.
func (c *execution) beat(ctx context.Context, stop context.CancelCauseFunc) {
	in := struct {
		task.LeaseRef
		Wait  int  `json:"waitSeconds"`
		Waits bool `json:"waits"`
	}{LeaseRef: c.leaseRef(), Wait: int(min(beatWait, time.Duration(c.run.Seconds)*time.Second/3).Seconds())}
	for ctx.Err() == nil {
		begin := time.Now()
		var beat task.Beat
		err := c.report(ctx, "heartbeat", in, &beat)
		switch {
		case ctx.Err() != nil && err != nil:
			return
		case err != nil:
			stop(fmt.Errorf("%w: the server no longer accepts its reports: %w", supervise.ErrCanceled, err))
			return
		case beat.Cancel && beat.Phase == task.PhaseEnded:
			stop(supervise.ErrLeaseLost)
			return
		case beat.Cancel && beat.Phase == task.PhaseTaskClosed:
			stop(supervise.ErrTaskClosed)
			return
		case beat.Cancel:
			stop(fmt.Errorf("%w: %s", supervise.ErrCanceled, beat.Reason))
			return
		}
		if beat.Waits {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
		if beat.Waits != in.Waits {
			select {
			case c.waits <- beat.Waits:
				in.Waits = beat.Waits
				continue
			case <-time.After(time.Second): // its runner is not reading yet
			case <-ctx.Done():
			}
		}
		sleep.For(ctx, time.Second-time.Since(begin)) // if the server did not hold it
	}
}

// finish reports the end of the run, unless the server has ended it.
func (c *execution) finish(out supervise.Outcome) {
	in := endReport(c.run, out)
	switch {
	case out.Status == task.RunCanceled && out.Phase == task.PhaseShutdown:
		in["status"] = "returned"
	case out.Status == task.RunCanceled:
		return
	case out.Status == task.RunFailed:
		in["phase"] = out.Phase
	}
	if err := c.report(c.revoked, "finish", in, nil); err != nil {
		c.log.Warn("server did not accept the end of the run", "error", err)
	}
}
