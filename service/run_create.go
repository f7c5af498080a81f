package service

import (
	"context"
	"errors"
	"time"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/task"
)

// wake asks for a run of a task's owner at once, if there is one to start and
// nothing speaks against it; what does is left to ticks and people.
func (tx *txn) wake(tk *task.Task, why string) error {
	return tx.wakeTask(tk, why, false)
}

// wakeTask is wake, with stuck also for a task whose runs have failed too often.
func (tx *txn) wakeTask(tk *task.Task, why string, stuck bool) error {
	if !tx.s.config().Wakes || tk.Status != task.Active || tk.QuestionID != 0 || tk.Blocked > 0 || tk.Awaits != "" {
		return nil
	}
	def, err := tx.startableOwner(tk)
	if e := (*task.Error)(nil); errors.As(err, &e) {
		return nil // ticks say why
	}
	if err != nil {
		return err
	}
	open, err := tx.OpenRun(tk.ID)
	if err != nil {
		return err
	}
	if open != nil {
		// A run that has not started yet will see what is new anyway.
		if open.Status != task.RunRunning || tx.actor.RunID == open.ID && open.Agent == tk.Owner {
			return nil
		}
		if err := tx.NoteFollowUp(open.ID, why); err != nil {
			return err
		}
		return tx.runEvent(task.EvRunFollowUp, open, changes{"why": why})
	}
	if tk.Claim.Live(tx.Now) || !stuck && tk.Failures >= tx.s.config().Attempts {
		return nil
	}
	return tx.budgeted(tk, def, task.CauseWake, why)
}

// budgeted makes a run by wake or follow-up unless the task had too many.
func (tx *txn) budgeted(tk *task.Task, def task.Agent, cause task.Cause, why string) error {
	n, err := tx.WakesSince(tk.ID, tx.Now.Add(-time.Hour))
	if err != nil {
		return err
	}
	if n >= tx.s.config().WakeBudget {
		return tx.taskEvent(task.EvWakeSkipped, tk, changes{"why": why, "budget": tx.s.config().WakeBudget})
	}
	_, err = tx.createRun(tk, def, newRun{cause: cause, reason: why, attempt: 1})
	return err
}

type newRun struct {
	cause     task.Cause
	reason    string
	attempt   int
	retryOf   task.ID
	notBefore task.Time
	session   string // of the run that was lost
	folder    string
}

// newRun is a queued run of a task as its owner's definition has it.
func (tx *txn) newRun(tk *task.Task, def task.Agent, n newRun) *task.Run {
	r := &task.Run{
		TaskID: tk.ID, Agent: def.ID, Status: task.RunPending, Phase: task.PhaseQueued, Cause: n.cause, AskedBy: tx.actor.Name,
		Attempt: n.attempt, RetryOf: n.retryOf, NotBefore: n.notBefore, DefinitionHash: def.Hash,
		Session: n.session, Folder: n.folder, StartReason: n.reason, Model: tx.s.runner(def.Runner).runModel(def, nil),
	}
	_, r.Limits = tx.s.runRights(def, nil)
	if !tx.actor.IsAgent() {
		r.AskedToken = tx.actor.TokenID
	}
	return r
}

// createRun makes a pending run: queued, or waiting for approval with a
// frozen copy of what would run. What bounds its task bounds it.
func (tx *txn) createRun(tk *task.Task, def task.Agent, n newRun) (task.ID, error) {
	r := tx.newRun(tk, def, n)
	v, err := tx.assessRights(tk, def, r)
	if err != nil {
		return 0, err
	}
	if v.needsApproval {
		if err := tx.freeze(r, def, tk, v); err != nil {
			return 0, err
		}
	} else if r.Ask != nil {
		_, r.Limits = tx.s.runRights(def, r.Ask)
		r.Model = tx.s.runner(def.Runner).runModel(def, r.Ask)
	}
	if r.ID, err = tx.InsertRun(r); err != nil {
		return 0, err
	}
	if err := tx.keepServers(r.ID); err != nil {
		return 0, err
	}
	if err := tx.DeleteStoppedNotices(tk.ID); err != nil {
		return 0, err
	}
	tx.signals.Queued = tx.signals.Queued || r.Phase == task.PhaseQueued
	tx.inboxIf(r.Phase == task.PhaseApproval || tk.Failures > 0)
	c := changes{"cause": n.cause, "phase": r.Phase, "attempt": n.attempt}
	if r.Phase == task.PhaseApproval {
		if err := tx.notifyRun(r, "waits for approval of a run"+reasonSuffixColon(r.Approval.RequestReason)); err != nil {
			return 0, err
		}
		if r.Approval.RequestReason != "" {
			c["approval"] = r.Approval.RequestReason
		}
	}
	if v.narrows {
		c["narrowed"] = v.reason
	}
	if r.Ask != nil || r.Depth > 0 {
		c["depth"] = r.Depth
	}
	if r.ParentRun != 0 {
		c["parentRun"] = r.ParentRun
	}
	if n.reason != "" {
		c["why"] = n.reason
	}
	return r.ID, tx.runEvent(task.EvRunCreated, r, c)
}

// keepServers assigns new runs to the servers that have the folders of their tasks.
func (tx *txn) keepServers(runs ...task.ID) error {
	if tx.s.serverID() == "" {
		return nil
	}
	return tx.KeepServers(runs...)
}

// freeze computes what would run and has it wait for approval, unless a
// reviewer already approved all runs of this task and nothing changed since.
func (tx *txn) freeze(r *task.Run, def task.Agent, bare *task.Task, v rightsAssessment) error {
	tk, err := tx.Task(bare.ID)
	if err != nil {
		return err
	}
	spec, err := tx.runSpec(def, tx.s.runner(def.Runner), tk, r)
	if err != nil {
		return err
	}
	r.Spec, r.Limits, r.Model, r.DefinitionHash = &spec, spec.Limits, spec.Model, spec.DefinitionHash
	hash, by, limits, err := tx.Grant(tk.ID)
	if err != nil {
		return err
	}
	if !v.waits && hash != "" && hash == grantHash(spec, tk) {
		if r.Limits, err = spec.Limits.Tighten(limits); err != nil {
			return err
		}
		r.Phase = task.PhaseQueued
		r.Approval = &task.Approval{Version: specHash(spec), Decision: "approved", By: by, At: tx.Now, Scope: task.ScopeTask}
		return nil
	}
	r.Phase = task.PhaseApproval
	r.Approval = &task.Approval{Version: specHash(spec), ExpiresAt: tx.Now.Add(tx.s.config().ApprovalExpires), RequestReason: v.reason}
	return nil
}

// RunNow makes a run of a task at once, outside ticks and wakes. Errors:
// unknown task, not active, in flight, claimed, question open, blocked, no
// runner, paused; for agents also stuck, and too many within an hour.
func (s *Service) RunNow(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		tk, err := tx.open(id, false)
		if err != nil {
			return nil, err
		}
		run, err := tx.runNow(tk, newRun{cause: task.CauseManual, attempt: 1})
		if err != nil {
			return nil, err
		}
		return tx.Run(run)
	})
}

// runNow makes a run of a task at once. When a person wants it, the failures
// before it do not count any more.
func (tx *txn) runNow(tk *task.Task, n newRun) (task.ID, error) {
	def, err := tx.runnableOwner(tk)
	if err != nil {
		return 0, err
	}
	if err := tx.checkNotPaused(tk.Owner); err != nil {
		return 0, err
	}
	if err := tx.checkRetryAllowed(tk); err != nil {
		return 0, err
	}
	run, err := tx.createRun(tk, def, n)
	if err == nil && !tx.actor.IsAgent() && tk.Failures > 0 {
		err = tx.SetFailures(tk.ID, 0)
	}
	return run, err
}

// runnableOwner returns the owner's definition, or why no run may be made now.
func (tx *txn) runnableOwner(tk *task.Task) (task.Agent, error) {
	def, err := tx.startableOwner(tk)
	if err != nil {
		return def, err
	}
	conflict := func(code task.Code, format string, args ...any) error {
		return task.Errorf(task.Conflict, code, format, args...)
	}
	open, err := tx.OpenRun(tk.ID)
	switch {
	case err != nil:
		return def, err
	case tk.Status != task.Active:
		return def, conflict(task.CodeTaskNotActive, "Task %d is %s: only active tasks run", tk.ID, tk.Status)
	case open != nil && open.Phase == task.PhaseApproval:
		return def, conflict(task.CodeRunOpen, "Run %d of task %d waits for approval", open.ID, tk.ID)
	case open != nil:
		return def, conflict(task.CodeRunOpen, "Task %d is in flight: run %d is %s", tk.ID, open.ID, open.Status)
	case tk.Claim != nil:
		return def, conflict(task.CodeClaimed, "Task %d is claimed by %s until %s",
			tk.ID, task.ActorLabel(tk.Claim.Holder), tk.Claim.ExpiresAt.Minute())
	case tk.QuestionID != 0:
		return def, conflict(task.CodeTaskGated, "Task %d waits for an answer to its question", tk.ID)
	}
	return def, tx.checkUnblocked(tk)
}

// startableOwner is startableAgent for the owner of a task, which must work on its project.
func (tx *txn) startableOwner(tk *task.Task) (task.Agent, error) {
	def, err := tx.s.startableAgent(tk.Owner)
	if err == nil {
		err = tx.checkCanWorkOn(def, tk)
	}
	return def, err
}

// startableAgent returns a definition that Taskyard can start, or why it cannot.
func (s *Service) startableAgent(agent string) (task.Agent, error) {
	def, ok := s.agents.Agent(agent)
	switch {
	case !ok:
		return def, task.Errorf(task.Conflict, task.CodeUnknownAgent, "Agent %s is no longer defined", agent)
	case !def.Serving:
		return def, task.Errorf(task.Conflict, task.CodeInvalidAgent, "The definition of agent %s is invalid: %s", agent, firstProblem(def))
	case def.PullOnly:
		return def, task.Errorf(task.Conflict, task.CodePullOnly, "Taskyard cannot start agent %s: %s", agent, def.PullReason)
	}
	return def, nil
}

// leaveReason returns why this server leaves a queued run to the others, "" if it does not:
// their configuration may have what this one lacks to start the agent.
func (s *Service) leaveReason(r *task.Run) string {
	def, ok := s.agents.Agent(r.Agent)
	if !ok || def.Serving && def.Runner == agentfile.RunnerNone || r.Server != "" || s.cluster.others.Load() == 0 {
		return ""
	}
	if _, err := s.startableAgent(r.Agent); err != nil {
		return "this server cannot start it and leaves it to the others: " + err.Error()
	}
	return ""
}

// Run returns one run. Error: unknown id.
func (s *Service) Run(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	return readRun(ctx, s, a, id, func(_ *db.Rx, r *task.Run) (*task.Run, error) { return r, nil })
}

// readRun reads something of a run that the caller may see. Errors: may not
// read, unknown run.
func readRun[T any](ctx context.Context, s *Service, a task.Actor, id task.ID, fn func(*db.Rx, *task.Run) (T, error)) (none T, err error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return none, err
	}
	return read(ctx, s, func(rx *db.Rx) (T, error) {
		r, err := s.findRun(rx, a, id)
		if err != nil {
			return none, err
		}
		return fn(rx, r)
	})
}

// Runs returns runs, newest first. Errors: may not read, unknown status, unknown task.
func (s *Service) Runs(ctx context.Context, a task.Actor, f task.RunFilter) ([]*task.Run, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	switch f.Status {
	case "", task.RunPending, task.RunRunning, task.RunCompleted, task.RunFailed, task.RunCanceled:
	default:
		return nil, task.FieldErrorf("status", "must be pending, running, completed, failed or canceled")
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) {
		if f.TaskID == 0 && s.isOwnTasksOnly(a) {
			return s.ownRuns(rx, a, f)
		}
		if f.TaskID != 0 {
			if _, err := s.find(rx, a, f.TaskID, false); err != nil {
				return nil, err
			}
		}
		return rx.Runs(f)
	})
}

// Transcript returns up to limit lines of a run after an id, oldest first.
func (s *Service) Transcript(ctx context.Context, a task.Actor, run, after task.ID, limit int) ([]task.Message, error) {
	return readRun(ctx, s, a, run, func(rx *db.Rx, _ *task.Run) ([]task.Message, error) { return rx.Transcript(run, after, limit) })
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
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		r, err := tx.findRun(id)
		if err != nil {
			return nil, err
		}
		tk, err := tx.TaskRow(r.TaskID)
		if err != nil {
			return nil, err
		}
		if err := checkRelated(&tx.Rx, a, tk); err != nil {
			return nil, err
		}
		if r.Status.Final() {
			return nil, endedError(r)
		}
		if reason == "" {
			reason = "canceled by " + task.ActorLabel(a.Name)
		} else if err := tx.recordComment(tk); err != nil { // the next run reads it
			return nil, err
		}
		if err := tx.endCanceled(r, task.PhaseBy, reason, ErrStopCanceled); err != nil {
			return nil, err
		}
		return tx.Run(id)
	})
}

// reasonSuffix is the reason of a run's end, ready to follow its state.
func reasonSuffix(r *task.Run) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + r.Reason + ")"
}

func endedError(r *task.Run) error {
	return task.Errorf(task.Conflict, task.CodeRunEnded, "Run %d has ended: %s%s", r.ID, r.State().Text(), reasonSuffix(r))
}

// closeRun ends the open run of a task that moves on without it; the caller's
// own may end by itself first. With spare, what the run
// delegated continues.
func (tx *txn) closeRun(tk *task.Task, reason string, spare bool) error {
	r, err := tx.OpenRun(tk.ID)
	if err != nil || r == nil {
		return err
	}
	if r.ID == tx.actor.RunID {
		return tx.closeOwn(tk, r, reason)
	}
	if r.ClosingAt != 0 { // it has done its work; its program says its last words
		return tx.concludeClosed(r)
	}
	state := task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed}
	return tx.end(r, state, runEnd{reason: reason, keepDelegated: spare}, ErrStopTaskClosed)
}

func (tx *txn) endCanceled(r *task.Run, phase task.Phase, reason string, cause error) error {
	return tx.end(r, task.State{Status: task.RunCanceled, Phase: phase}, runEnd{reason: reason}, cause)
}

type runEnd struct {
	keepDelegated   bool // what it delegated continues
	reason, summary string
	artifacts       []string
	usage           task.Usage
}

// end writes a final state: guarded by the old state and the lease, with its
// event, the end of its claim and of its token, in one transaction.
func (tx *txn) end(r *task.Run, to task.State, e runEnd, stop error) error {
	if !r.State().CanMove(to) {
		return task.Errorf(task.Conflict, task.CodeRunEnded, "Run %d cannot go from %s to %s", r.ID, r.State(), to)
	}
	if err := tx.voidPermission(r); err != nil {
		return err
	}
	if err := tx.keepMessages(r, to.Status); err != nil {
		return err
	}
	e.usage = r.Usage.Final(e.usage)
	ok, err := tx.EndRun(r, to, e.reason, e.summary, e.artifacts, e.usage)
	if err != nil {
		return err
	}
	if !ok {
		return endedError(r)
	}
	tx.signals.Ended = append(tx.signals.Ended, r.ID)
	if err := tx.DropRunTokens(r.ID); err != nil {
		return err
	}
	if r.Status == task.RunRunning && stop != nil {
		tx.stopRun(r.ID, stop)
	}
	if err := tx.freeClaims(r); err != nil {
		return err
	}
	if err := tx.noteFreedForOwner(r); err != nil {
		return err
	}
	kind := map[task.RunStatus]string{
		task.RunCompleted: task.EvRunCompleted,
		task.RunFailed:    task.EvRunFailed, task.RunCanceled: task.EvRunCanceled,
	}[to.Status]
	c := changes{"state": []string{r.State().String(), to.String()}}
	if e.reason != "" {
		c["reason"] = e.reason
	}
	tx.signals.Queued = true // a place is free again
	tx.inboxIf(r.Phase == task.PhaseApproval)
	if err := tx.runEvent(kind, r, c); err != nil {
		return err
	}
	if to.Status == task.RunCompleted || e.keepDelegated {
		return nil
	}
	return tx.cancelDelegated(r, to, e.reason)
}

// noteFreedForOwner records whose queue the end of a run gives its task back to: a
// run that has handed its task over ends after that.
func (tx *txn) noteFreedForOwner(r *task.Run) error {
	tk, err := tx.TaskRow(r.TaskID)
	if err == nil && tk.Owner != r.Agent {
		tx.signals.Freed = append(tx.signals.Freed, tk.Owner)
	}
	return err
}

// RetryRun makes a new run of an ended one's task, which names it, and lets a
// stuck task run again. Errors: not ended, as RunNow.
func (s *Service) RetryRun(ctx context.Context, a task.Actor, id task.ID) (*task.Run, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		r, err := tx.findRun(id)
		if err != nil {
			return nil, err
		}
		if !r.Status.Final() {
			return nil, task.Errorf(task.Conflict, task.CodeRunNotFinal, "Run %d has not ended (%s)", id, r.State().Text())
		}
		tk, err := tx.open(r.TaskID, false)
		if err != nil {
			return nil, err
		}
		run, err := tx.runNow(tk, newRun{cause: task.CauseRetry, attempt: 1, retryOf: id})
		if err != nil {
			return nil, err
		}
		return tx.Run(run)
	})
}
