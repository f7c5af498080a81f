package service

import (
	"context"
	"errors"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// The causes with which a running run of this process is stopped.
var (
	ErrStopCanceled   = errors.New("canceled")
	ErrStopTaskClosed = errors.New("task closed")
	ErrStopDone       = errors.New("done")              // it closed its own task
	ErrStopReported   = errors.New("ended by a report") // it has its end already
)

// wake asks for a run of a task's owner at once, if there is one to start and
// nothing speaks against it; what does is left to ticks and people.
func (t *tx) wake(k *task.Task, why string) error {
	if !t.s.cfg.Wakes || k.Status != task.Active || k.QuestionID != 0 || k.Blocked > 0 {
		return nil
	}
	def, ok := t.s.agents.Agent(k.Owner)
	if !ok || !def.Serving || def.PullOnly {
		return nil
	}
	open, err := t.OpenRun(k.ID)
	if err != nil {
		return err
	}
	if open != nil {
		// A run that has not started yet will see the news anyway.
		if open.Status != task.RunRunning || t.actor.RunID == open.ID && open.Agent == k.Owner {
			return nil
		}
		if err := t.NoteFollowUp(open.ID); err != nil {
			return err
		}
		return t.event(task.EvRunFollowUp, task.Event{TaskID: k.ID, RunID: open.ID, Agent: open.Agent}, changes{"why": why})
	}
	if k.Claim.Live(t.Now) || k.Failures >= t.s.cfg.Attempts {
		return nil
	}
	return t.budgeted(k, def, task.CauseWake, why)
}

// budgeted makes a run by wake or follow-up unless the task had too many.
func (t *tx) budgeted(k *task.Task, def task.Agent, cause task.Cause, why string) error {
	n, err := t.WakesSince(k.ID, t.Now.Add(-time.Hour))
	if err != nil {
		return err
	}
	if n >= t.s.cfg.WakeBudget {
		return t.event(task.EvWakeSkipped, task.Event{TaskID: k.ID, Agent: k.Owner}, changes{"why": why, "budget": t.s.cfg.WakeBudget})
	}
	_, err = t.createRun(k, def, newRun{cause: cause, why: why, attempt: 1})
	return err
}

type newRun struct {
	cause     task.Cause
	why       string
	attempt   int
	retryOf   task.ID
	notBefore task.Time
	session   string // of the run that was lost
	folder    string
}

// createRun makes a pending run: queued, or waiting for approval with a
// frozen copy of what would run. What bounds its task bounds it.
func (t *tx) createRun(k *task.Task, def task.Agent, n newRun) (task.ID, error) {
	r := &task.Run{
		TaskID: k.ID, Agent: def.ID, Status: task.RunPending, Phase: task.PhaseQueued, Cause: n.cause, AskedBy: t.actor.Name,
		Attempt: n.attempt, RetryOf: n.retryOf, NotBefore: n.notBefore, DefinitionHash: def.Hash,
		Session: n.session, Folder: n.folder,
	}
	if !t.actor.IsAgent() {
		r.AskedToken = t.actor.TokenID
	}
	v, err := t.judge(k, def, r)
	if err != nil {
		return 0, err
	}
	if v.must {
		if err := t.freeze(r, def, k, v); err != nil {
			return 0, err
		}
	} else {
		spec := t.s.specOf(def, &task.Task{}, r)
		r.Limits, r.Model = spec.Limits, spec.Model
	}
	id, err := t.InsertRun(r)
	if err != nil {
		return 0, err
	}
	t.queued = t.queued || r.Phase == task.PhaseQueued
	t.inboxIf(r.Phase == task.PhaseApproval || k.Failures > 0)
	c := changes{"cause": n.cause, "phase": r.Phase, "attempt": n.attempt}
	if r.Phase == task.PhaseApproval {
		r.ID = id
		if err := t.notifyRun(r, "waits for approval of a run"+because(r.Approval.Why)); err != nil {
			return 0, err
		}
		if r.Approval.Why != "" {
			c["approval"] = r.Approval.Why
		}
	}
	if v.narrows {
		c["narrowed"] = v.why
	}
	if r.Ask != nil || r.Depth > 0 {
		c["depth"] = r.Depth
	}
	if r.ParentRun != 0 {
		c["parentRun"] = r.ParentRun
	}
	if n.why != "" {
		c["why"] = n.why
	}
	return id, t.event(task.EvRunCreated, task.Event{TaskID: k.ID, RunID: id, Agent: def.ID}, c)
}

// freeze computes what would run and has it wait for approval, unless a
// reviewer already approved all runs of this task and nothing changed since.
func (t *tx) freeze(r *task.Run, def task.Agent, bare *task.Task, v verdict) error {
	k, err := t.Task(bare.ID)
	if err != nil {
		return err
	}
	spec := t.s.specOf(def, k, r)
	r.Spec, r.Limits, r.Model, r.DefinitionHash = &spec, spec.Limits, spec.Model, spec.DefinitionHash
	hash, by, limits, err := t.Grant(k.ID)
	if err != nil {
		return err
	}
	if !v.waits && hash != "" && hash == grantOf(spec, k) {
		if r.Limits, err = spec.Limits.Tighten(limits); err != nil {
			return err
		}
		r.Phase = task.PhaseQueued
		r.Approval = &task.Approval{Version: hashOf(spec), Decision: "approved", By: by, At: t.Now, Scope: task.ScopeTask}
		return nil
	}
	r.Phase = task.PhaseApproval
	r.Approval = &task.Approval{Version: hashOf(spec), ExpiresAt: t.Now.Add(t.s.cfg.ApprovalExpires), Why: v.why}
	return nil
}

// RunNow makes a run of a task at once, outside ticks and wakes. Errors:
// unknown task, not active, in flight, claimed, question open, blocked, no
// runner, paused; for agents also stuck, and too many within an hour.
func (s *Service) RunNow(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Run, error) {
		k, err := t.open(id, false)
		if err != nil {
			return nil, err
		}
		def, err := t.runnable(k)
		if err != nil {
			return nil, err
		}
		if err := t.notPaused(k.Owner); err != nil {
			return nil, err
		}
		if err := t.checkRetryAllowed(k); err != nil {
			return nil, err
		}
		run, err := t.createRun(k, def, newRun{cause: task.CauseManual, attempt: 1})
		if err != nil {
			return nil, err
		}
		if !a.IsAgent() && k.Failures > 0 {
			if err := t.SetFailures(id, 0); err != nil {
				return nil, err
			}
		}
		return t.Run(run)
	})
}

// runnable returns the owner's definition, or why no run may be made now.
func (t *tx) runnable(k *task.Task) (task.Agent, error) {
	def, err := t.s.starter(k.Owner)
	if err != nil {
		return def, err
	}
	conflict := func(code task.Code, format string, args ...any) error {
		return task.Errorf(task.Conflict, code, format, args...)
	}
	open, err := t.OpenRun(k.ID)
	switch {
	case err != nil:
		return def, err
	case k.Status != task.Active:
		return def, conflict(task.CodeTaskNotActive, "Task %d is %s: only active tasks run", k.ID, k.Status)
	case open != nil && open.Phase == task.PhaseApproval:
		return def, conflict(task.CodeRunOpen, "Run %d of task %d waits for approval", open.ID, k.ID)
	case open != nil:
		return def, conflict(task.CodeRunOpen, "Task %d is in flight: run %d is %s", k.ID, open.ID, open.Status)
	case k.Claim != nil:
		return def, conflict(task.CodeClaimed, "Task %d is claimed by %s until %s", k.ID, k.Claim.Holder, k.Claim.ExpiresAt)
	case k.QuestionID != 0:
		return def, conflict(task.CodeTaskGated, "Task %d waits for an answer to its question", k.ID)
	}
	return def, t.free(k)
}

// starter returns a definition that Taskyard can start, or why it cannot.
func (s *Service) starter(agent string) (task.Agent, error) {
	def, ok := s.agents.Agent(agent)
	switch {
	case !ok:
		return def, task.Errorf(task.Conflict, task.CodeUnknownAgent, "Agent %s is not defined any more", agent)
	case !def.Serving:
		return def, task.Errorf(task.Conflict, task.CodeInvalidAgent, "The definition of agent %s is invalid: %s", agent, firstProblem(def))
	case def.PullOnly:
		return def, task.Errorf(task.Conflict, task.CodePullOnly, "Agent %s claims its work itself: %s", agent, def.PullReason)
	}
	return def, nil
}

// Run returns one run. Error: unknown id.
func (s *Service) Run(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Run, error) {
		if err := s.seesRun(rx, a, id); err != nil {
			return nil, err
		}
		return rx.Run(id)
	})
}

// Runs returns runs, newest first.
func (s *Service) Runs(ctx context.Context, a task.Actor, f task.RunFilter) ([]*task.Run, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) {
		if f.TaskID == 0 && s.ownOnly(a) {
			return s.ownRuns(rx, a, f)
		}
		if f.TaskID != 0 {
			if err := s.sees(rx, a, f.TaskID); err != nil {
				return nil, err
			}
			if _, err := rx.TaskBare(f.TaskID); err != nil {
				return nil, err
			}
		}
		return rx.Runs(f)
	})
}

// Transcript returns up to limit lines of a run after an id, oldest first.
func (s *Service) Transcript(ctx context.Context, a task.Actor, run, after task.ID, limit int) ([]task.Message, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.Message, error) {
		if err := s.seesRun(rx, a, run); err != nil {
			return nil, err
		}
		if _, err := rx.Run(run); err != nil {
			return nil, err
		}
		return rx.Transcript(run, after, limit)
	})
}

// CancelRun ends an open run; its process tree is stopped. Errors: unknown,
// already ended, not related.
func (s *Service) CancelRun(ctx context.Context, a task.Actor, id task.ID, reason string) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	if err := checkText("reason", reason); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Run, error) {
		r, err := t.findRun(id)
		if err != nil {
			return nil, err
		}
		k, err := t.TaskBare(r.TaskID)
		if err != nil {
			return nil, err
		}
		if err := related(&t.Rx, a, k); err != nil {
			return nil, err
		}
		if r.Status.Final() {
			return nil, ended(r)
		}
		if reason == "" {
			reason = "canceled by " + a.Name
		}
		if err := t.endCanceled(r, task.PhaseBy, reason, ErrStopCanceled); err != nil {
			return nil, err
		}
		return t.Run(id)
	})
}

// why is the reason of a run's end, ready to follow its state.
func why(r *task.Run) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + r.Reason + ")"
}

func ended(r *task.Run) error {
	return task.Errorf(task.Conflict, task.CodeRunEnded, "Run %d has ended: %s%s", r.ID, r.State(), why(r))
}

// closeRun ends the open run of a task that moves on without it; the caller's
// own may end by itself first. With spare, what the run
// delegated continues.
func (t *tx) closeRun(k *task.Task, reason string, spare bool) error {
	r, err := t.OpenRun(k.ID)
	if err != nil || r == nil {
		return err
	}
	if r.ID == t.actor.RunID {
		return t.closeOwn(r, reason)
	}
	return t.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed}, ending{reason: reason, spare: spare}, ErrStopTaskClosed)
}

func (t *tx) endCanceled(r *task.Run, phase task.Phase, reason string, cause error) error {
	return t.end(r, task.State{Status: task.RunCanceled, Phase: phase}, ending{reason: reason}, cause)
}

type ending struct {
	spare           bool // what it delegated continues
	reason, summary string
	artifacts       []string
	usage           task.Usage
}

// end writes a final state: guarded by the old state and the lease, with its
// event, the end of its claim and of its token, in one transaction.
func (t *tx) end(r *task.Run, to task.State, e ending, stop error) error {
	if !r.State().CanMove(to) {
		return task.Errorf(task.Conflict, task.CodeRunEnded, "Run %d cannot go from %s to %s", r.ID, r.State(), to)
	}
	if err := t.voidPermission(r); err != nil {
		return err
	}
	e.usage = r.Usage.Final(e.usage)
	ok, err := t.EndRun(r, to, e.reason, e.summary, e.artifacts, e.usage)
	if err != nil {
		return err
	}
	if !ok {
		return ended(r)
	}
	t.ended = append(t.ended, r.ID)
	if err := t.DropRunTokens(r.ID); err != nil {
		return err
	}
	if r.Status == task.RunRunning && stop != nil {
		t.stop = append(t.stop, stopOrder{r.ID, stop})
	}
	if err := t.freeClaim(r); err != nil {
		return err
	}
	if err := t.freesForOwner(r); err != nil {
		return err
	}
	kind := map[task.RunStatus]string{task.RunCompleted: task.EvRunCompleted, task.RunFailed: task.EvRunFailed, task.RunCanceled: task.EvRunCanceled}[to.Status]
	c := changes{"state": []string{r.State().String(), to.String()}}
	if e.reason != "" {
		c["reason"] = e.reason
	}
	t.queued = true // a place is free again
	t.inboxIf(r.Phase == task.PhaseApproval)
	if err := t.event(kind, task.Event{TaskID: r.TaskID, RunID: r.ID, Agent: r.Agent}, c); err != nil {
		return err
	}
	if to.Status == task.RunCompleted || e.spare {
		return nil
	}
	return t.cancelDelegated(r, to, e.reason)
}

// freesForOwner notes whose queue the end of a run gives its task back to: a
// run that has handed its task over ends after that.
func (t *tx) freesForOwner(r *task.Run) error {
	k, err := t.TaskBare(r.TaskID)
	if err == nil && k.Owner != r.Agent {
		t.freed = append(t.freed, k.Owner)
	}
	return err
}

// freeClaim ends the claim that the run took at its start, if it is still
// that one.
func (t *tx) freeClaim(r *task.Run) error {
	if r.ClaimID == 0 {
		return nil
	}
	k, err := t.TaskBare(r.TaskID)
	if err != nil || k.Claim == nil || k.Claim.ID != r.ClaimID {
		return err
	}
	return t.release(k, "run ended")
}

// RetryRun makes a new run of an ended one's task, which names it, and lets a
// stuck task run again. Errors: not ended, as RunNow.
func (s *Service) RetryRun(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(t *tx) (*task.Run, error) {
		r, err := t.findRun(id)
		if err != nil {
			return nil, err
		}
		if !r.Status.Final() {
			return nil, task.Errorf(task.Conflict, task.CodeRunNotFinal, "Run %d has not ended: it is %s", id, r.State())
		}
		k, err := t.open(r.TaskID, false)
		if err != nil {
			return nil, err
		}
		def, err := t.runnable(k)
		if err != nil {
			return nil, err
		}
		if err := t.notPaused(k.Owner); err != nil {
			return nil, err
		}
		if err := t.checkRetryAllowed(k); err != nil {
			return nil, err
		}
		if !a.IsAgent() {
			if err := t.SetFailures(k.ID, 0); err != nil {
				return nil, err
			}
		}
		run, err := t.createRun(k, def, newRun{cause: task.CauseRetry, attempt: 1, retryOf: id})
		if err != nil {
			return nil, err
		}
		return t.Run(run)
	})
}
