package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Approve is what a reviewer says of a run that may run.
type Approve struct {
	Scope   task.Scope  // "" means once
	Limits  task.Limits // tighter than the run's; zero fields stay
	Version string      // the hash that was looked at; "" means the present one

	Undo time.Duration // how long it can be undone before it takes effect; at most task.MaxUndoWindow
}

// ApproveRun lets a waiting run run, exactly as it was shown. Errors: not a
// reviewer, decided already, ended, what would run has changed, wider limits.
func (s *Service) ApproveRun(ctx context.Context, a task.Actor, id task.ID, in Approve) (*task.Run, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return nil, err
	}
	in.Scope = cmp.Or(in.Scope, task.ScopeOnce)
	if in.Scope != task.ScopeOnce && in.Scope != task.ScopeTask {
		return nil, task.FieldErrorf("scope", "must be once or task")
	}
	if err := checkUndoWindow(in.Undo); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		r, tk, limits, err := tx.loadForApproval(id, in)
		if task.IsCode(err, task.CodeRunChanged) {
			tx.verdict = err // what is new is kept: reviewers see it
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		if in.Undo > 0 {
			return tx.setPendingDecision(r, task.PendingDecision{Decision: "approved", Scope: in.Scope, Limits: in.Limits}, in.Undo)
		}
		return tx.approve(r, tk, limits, in)
	})
}

// loadForApproval returns a run that may be approved as it was looked at, with its
// task and limits. What would run by now, where that is not what was asked
// for, is asked again; the error CodeRunChanged then comes with the run.
func (tx *txn) loadForApproval(id task.ID, in Approve) (*task.Run, *task.Task, task.Limits, error) {
	r, def, tk, err := tx.awaitingApproval(id)
	if err != nil {
		return nil, nil, task.Limits{}, err
	}
	limits, err := r.Spec.Limits.Tighten(in.Limits)
	if err != nil {
		return nil, nil, limits, err
	}
	if _, err := tx.mayApprove(r); err != nil {
		return nil, nil, limits, err
	}
	changed, err := tx.refreezeChanged(r, def, tk)
	if err != nil {
		return nil, nil, limits, err
	}
	if changed || in.Version != "" && in.Version != r.Approval.Version {
		return r, tk, limits, runChangedError(r)
	}
	return r, tk, limits, nil
}

func runChangedError(r *task.Run) error {
	e := task.Errorf(task.Conflict, task.CodeRunChanged, "Run %d has changed since you reviewed it: review it again", r.ID)
	e.Version = r.Approval.Version
	return e
}

// awaitingApproval returns a run that waits for approval, with all that it needs.
func (tx *txn) awaitingApproval(id task.ID) (*task.Run, task.Agent, *task.Task, error) {
	r, err := tx.Run(id)
	if err != nil {
		return nil, task.Agent{}, nil, err
	}
	if err := checkUndecided(r, tx.Now); err != nil {
		return nil, task.Agent{}, nil, err
	}
	tk, err := tx.Task(r.TaskID)
	if err != nil {
		return nil, task.Agent{}, nil, err
	}
	def, err := tx.s.startableAgent(r.Agent)
	return r, def, tk, err
}

// checkUndecided checks that a run waits for a decision that still may come.
func checkUndecided(r *task.Run, now task.Time) error {
	if !waitsForReviewer(r) {
		return decidedError(r)
	}
	if h := r.PendingDecision; h != nil {
		return task.Errorf(task.Conflict, task.CodeRunDecided, "Run %d was already %s by %s at %s%s",
			r.ID, h.Decision, task.ActorLabel(h.By), h.At.Minute(), reasonSuffixColon(h.Reason))
	}
	if r.Approval.ExpiresAt <= now {
		return task.Errorf(task.Conflict, task.CodeRunDecided,
			"The approval of run %d expired at %s: nobody decided in time", r.ID, r.Approval.ExpiresAt.Minute())
	}
	return nil
}

func decidedError(r *task.Run) error {
	if r.Approval == nil || r.Approval.Decision == "" {
		if r.Status.Final() {
			return endedError(r)
		}
		return task.Errorf(task.Conflict, task.CodeRunDecided, "Run %d does not wait for approval (%s)", r.ID, r.State().Text())
	}
	a := r.Approval
	return task.Errorf(task.Conflict, task.CodeRunDecided, "Run %d was already %s by %s at %s%s",
		r.ID, a.Decision, task.ActorLabel(a.By), a.At.Minute(), reasonSuffixColon(a.Reason))
}

// reasonSuffixColon leads over to a reason, where there is one.
func reasonSuffixColon(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// refreezeChanged asks again if what would run by now is not what was asked for,
// and reports whether it did.
func (tx *txn) refreezeChanged(r *task.Run, def task.Agent, tk *task.Task) (bool, error) {
	v, err := tx.assessRights(tk, def, r)
	if err != nil {
		return false, err
	}
	spec, err := tx.runSpec(def, tx.s.runner(def.Runner), tk, r)
	if err != nil || specHash(spec) == r.Approval.Version {
		return false, err
	}
	return true, tx.refreeze(r, spec, v.reason)
}

// refreeze shows reviewers what would run by now, and why they are asked, and
// asks again.
func (tx *txn) refreeze(r *task.Run, spec task.Spec, why string) error {
	if r.Spec != nil && r.Approval != nil {
		if err := tx.SaveSpec(r.ID, r.Approval.Version, r.Spec); err != nil {
			return err
		}
	}
	r.Spec, r.Limits, r.Model, r.DefinitionHash = &spec, spec.Limits, spec.Model, spec.DefinitionHash
	r.Approval = &task.Approval{Version: specHash(spec), ExpiresAt: tx.Now.Add(tx.s.config().ApprovalExpires), RequestReason: why}
	r.PendingDecision = nil
	if ok, err := tx.SetApproval(r, task.PhaseApproval); err != nil || !ok {
		return errorOrEnded(r, err)
	}
	if err := tx.notifyRun(r, "waits for approval again: the run has changed"); err != nil {
		return err
	}
	return tx.runEvent(task.EvRunVoided, r, changes{"version": r.Approval.Version})
}

func errorOrEnded(r *task.Run, err error) error {
	if err != nil {
		return err
	}
	return endedError(r)
}

func (tx *txn) approve(r *task.Run, tk *task.Task, limits task.Limits, in Approve) (*task.Run, error) {
	sole, err := tx.mayApprove(r)
	if err != nil {
		return nil, err
	}
	if sole {
		r.Approval.Reason = soleReviewer
	}
	r.Limits = limits
	r.Approval.Decision, r.Approval.By, r.Approval.At, r.Approval.Scope = "approved", tx.actor.Name, tx.Now, in.Scope
	if ok, err := tx.SetApproval(r, task.PhaseQueued); err != nil || !ok {
		return nil, errorOrEnded(r, err)
	}
	if in.Scope == task.ScopeTask {
		if err := tx.SetGrant(tk.ID, grantHash(*r.Spec, tk), tx.actor.Name, in.Limits); err != nil {
			return nil, err
		}
		if err := tx.DropAllContributions(tk.ID); err != nil {
			return nil, err
		}
	}
	tx.signals.Queued = true
	c := changes{"scope": in.Scope, "version": r.Approval.Version}
	if sole {
		c["note"] = soleReviewer
	}
	if in.Limits != (task.Limits{}) {
		c["limits"] = limits
	}
	if err := tx.runEvent(task.EvRunApproved, r, c); err != nil {
		return nil, err
	}
	return tx.Run(r.ID)
}

// DenyRun rejects a waiting run permanently. The reason goes into the task's
// thread, where the agent that requested the run finds it. The decision can be
// undone for as long as undo says, and takes effect only then. Errors: not a
// reviewer, blank reason, decided already, ended, undo too long.
func (s *Service) DenyRun(ctx context.Context, a task.Actor, id task.ID, reason string, undo time.Duration) (*task.Run, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return nil, err
	}
	var p task.Problems
	if p.CheckText("reason", reason, task.MaxReason*4) && strings.TrimSpace(reason) == "" {
		p.Add("reason", "is required: it is sent to the agent that requested the run")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := checkUndoWindow(undo); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		r, err := tx.Run(id)
		if err != nil {
			return nil, err
		}
		if err := checkUndecided(r, tx.Now); err != nil {
			return nil, err
		}
		if undo > 0 {
			return tx.setPendingDecision(r, task.PendingDecision{Decision: "denied", Reason: strings.TrimSpace(reason)}, undo)
		}
		return tx.deny(r, strings.TrimSpace(reason))
	})
}

func (tx *txn) deny(r *task.Run, reason string) (*task.Run, error) {
	if err := tx.refuse(r, "denied", task.PhaseDenied, reason); err != nil {
		return nil, err
	}
	// A no holds until a person says otherwise: the next tick must not ask again.
	if err := tx.SetFailures(r.TaskID, tx.s.config().Attempts); err != nil {
		return nil, err
	}
	return tx.Run(r.ID)
}

// refuse ends a waiting run by a decision, notifies the thread, and the owner of
// the task above.
func (tx *txn) refuse(r *task.Run, decision string, phase task.Phase, reason string) error {
	if err := tx.SetDecision(r.ID, decision, tx.actor.Name, reason); err != nil {
		return err
	}
	if err := tx.end(r, task.State{Status: task.RunCanceled, Phase: phase}, runEnd{reason: reason}, nil); err != nil {
		return err
	}
	if err := tx.comment(r.TaskID, task.KindSystem, tx.actor.Name, "Run "+r.ID.String()+" was "+decision+": "+reason); err != nil {
		return err
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil {
		return err
	}
	return tx.wakeParent(tk, decision)
}

// ExpireApprovals ends waiting runs that nobody decided on in time, denies the
// permissions that nobody gave, and returns how many of both.
func (s *Service) ExpireApprovals(ctx context.Context) (int, error) {
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (int, error) {
		list, err := tx.ExpiredApprovals(100)
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			if err := tx.runEvent(task.EvRunExpired, r, nil); err != nil {
				return 0, err
			}
			if err := tx.refuse(r, "expired", task.PhaseExpired, "nobody decided in time"); err != nil {
				return 0, err
			}
		}
		n, err := tx.expirePermissions()
		return len(list) + n, err
	})
}

// listedRuns is how many runs that wait for a reviewer are listed; there is
// no second page, as the next come up while these are decided.
const listedRuns = 100

// Waiting returns the first runs that wait for approval, those that expire
// first.
func (s *Service) Waiting(ctx context.Context, a task.Actor) ([]*task.Run, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.Waiting(listedRuns) })
}
