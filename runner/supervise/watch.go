package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskyard/task"
)

// leaseLostGrace is the time between SIGTERM and SIGKILL for a program whose
// run has ended.
const leaseLostGrace = time.Second

// minCheckPause is the shortest time between two checks of a clock that may be
// paused.
const minCheckPause = 20 * time.Millisecond

// Watch executes the work of a run in this process, within its time limits. It
// notifies the sink that the run has started, closes the transcript, and
// returns the outcome of work, cleaned and with usage. The context of work ends
// with ctx, when a limit is reached, and when Stop is called. silent is the
// reason of an idle timeout, such as "The model said nothing"; each value of
// signs, which may be nil, is progress. The error is that of the sink.
func (r *Run) Watch(
	ctx context.Context, silent string, signs <-chan struct{}, work func(context.Context) Outcome,
) (out Outcome, err error) {
	if err := r.sink.Started(Process{}); err != nil {
		return Failed(task.PhaseError, "The start of the run could not be recorded"), err
	}
	within, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.enforceTime(within.Done(), silent, signs)
		cancel()
	}()
	go r.clock.follow(r.Spec.Waits, within.Done())
	out = work(within)
	cancel()
	<-ended
	r.close(&out)
	r.out.Close()
	return out, nil
}

// maxArtifacts bounds the names of a run's artifacts, in bytes of JSON, because
// they are in every list of runs.
const maxArtifacts = 64 << 10

// close cleans an outcome and adds usage.
func (r *Run) close(out *Outcome) {
	size := 0
	for n, a := range out.Artifacts {
		if size += len(`"",`) + task.JSONBytes(a); size > maxArtifacts {
			r.out.note(fmt.Sprintf("It named %d artifacts; the first %d are kept.", len(out.Artifacts), n))
			out.Artifacts = out.Artifacts[:n]
			break
		}
	}
	if out.Status == task.RunFailed {
		out.Reason = task.ClipChars(r.Clean(out.Reason), task.MaxReason)
	}
	out.Usage = r.Usage
}

// enforceTime stops the run when a time limit is reached. It returns when done
// is closed, or when the run is being stopped for any reason.
func (r *Run) enforceTime(done <-chan struct{}, silent string, signs <-chan struct{}) {
	limits := r.Spec.Plan.Limits
	wall := timer(limits.Timeout()-r.clock.worked(), limits.TimeoutSeconds)
	idle := timer(limits.IdleTimeout(), limits.IdleTimeoutSeconds)
	for {
		select {
		case <-done:
			return
		case <-r.stopRequested:
			return
		case <-signs:
			r.clock.grant(0)
		case <-wall:
			left, over := r.clock.left(limits.Timeout())
			if over {
				r.expire(Failed(task.PhaseTimeout, fmt.Sprintf("It ran longer than its time limit of %d s", limits.TimeoutSeconds)))
				continue
			}
			wall = time.After(left)
		case <-idle:
			left := limits.IdleTimeout() - r.clock.idle()
			if left <= 0 {
				r.expire(Failed(task.PhaseIdle, fmt.Sprintf("%s for %d s", silent, limits.IdleTimeoutSeconds)))
				continue
			}
			idle = time.After(max(left, minCheckPause))
		}
	}
}

// stopChild stops the child when ctx ends or Stop is called. It returns when
// the child has ended or is being stopped, and reports whether interrupt asked
// the program to stop; interrupt may be nil.
func (r *Run) stopChild(ctx context.Context, c *child, grace time.Duration, interrupt func() bool) (interrupted bool) {
	select {
	case <-c.done:
		return false
	case <-r.stopRequested:
	case <-ctx.Done():
		cut, stop := Canceled(context.Cause(ctx)), r.Stop
		if errors.Is(context.Cause(ctx), ErrLeaseLost) {
			interrupt, grace = nil, min(grace, leaseLostGrace)
		} else if cut.Phase == task.PhaseShutdown {
			stop = r.expire
		}
		stop(cut)
	}
	if interrupt != nil && interrupt() {
		interrupted = true
		select {
		case <-c.done:
			return true
		case <-time.After(grace):
		}
	}
	c.stop(grace)
	return interrupted
}

// timer fires after d, or never if there is no limit.
func timer(d time.Duration, limit int) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(d)
}
