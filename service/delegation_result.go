package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// DelegatedRun returns the state of a delegation, named by any of its runs. It
// answers once that has ended, or when wait (0 to task.MaxWait) is over.
// Errors: unknown run, not a delegated one, not the caller's to follow.
func (s *Service) DelegatedRun(ctx context.Context, a task.Actor, id task.ID, wait time.Duration) (task.Delegated, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return task.Delegated{}, err
	}
	var p task.Problems
	if checkWait(&p, wait); p.Err() != nil {
		return task.Delegated{}, p.Err()
	}
	return s.follow(ctx, a, id, wait)
}

// follow looks, and looks again after each change of the task, until the
// delegation has ended or the time is over.
func (s *Service) follow(ctx context.Context, a task.Actor, id task.ID, wait time.Duration) (task.Delegated, error) {
	d, err := s.readDelegation(ctx, a, id)
	if err != nil || d.Ended() || wait == 0 {
		return d, err
	}
	ctx, end := s.WhileValid(ctx, a)
	defer end()
	if a.RunID != 0 {
		defer s.beginWait(a.RunID)()
	}
	sub := s.hub.Subscribe("task:" + d.TaskID.String())
	defer sub.Close()
	over := time.After(wait)
	for {
		if d, err = s.readDelegation(ctx, a, id); err != nil || d.Ended() {
			return d, err
		}
		select {
		case <-sub.C:
		case <-over:
			return d, nil
		case <-sub.Done(): // the server stops
			return d, nil
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
	}
}

// readDelegation reads the state of a delegation, and notes that the run that asked
// was told of its end.
func (s *Service) readDelegation(ctx context.Context, a task.Actor, id task.ID) (task.Delegated, error) {
	undelivered := false // whether the caller's run made the delegation, and was not told of its end
	d, err := read(ctx, s, func(rx *db.Rx) (d task.Delegated, err error) {
		r, tk, err := s.delegation(rx, a, id)
		if err != nil {
			return d, err
		}
		if d, err = delegationState(rx, r, tk); err != nil || !d.Ended() || a.RunID == 0 || a.RunID != r.ParentRun {
			return d, err
		}
		told, err := rx.Received(a.RunID, r.ID)
		undelivered = !told
		return d, err
	})
	if err != nil || !undelivered {
		return d, err
	}
	err = change(WithIdempotency(ctx, nil), s, task.SystemActor, func(tx *txn) error { return tx.AddReceived(a.RunID, d.RunID) })
	if err != nil && ctx.Err() == nil { // the answer is worth more: at worst, one more run of the agent follows
		s.log.ErrorContext(ctx, "not recorded that a run was told of an end", "run_id", a.RunID, "delegated_run", d.RunID, "error", err)
	}
	return d, nil
}

// delegation returns the newest run of a delegation that the caller may
// follow, with its task.
func (s *Service) delegation(rx *db.Rx, a task.Actor, id task.ID) (*task.Run, *task.Task, error) {
	r, err := s.findRun(rx, a, id)
	if err != nil {
		return nil, nil, err
	}
	if !r.Delegated() {
		return nil, nil, task.Errorf(task.NotFound, task.CodeRunNotFound, "Run %d was not delegated: read it with GET /api/runs/%d", id, id)
	}
	tk, err := rx.Task(r.TaskID)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRelated(rx, a, tk); err != nil {
		return nil, nil, task.Errorf(task.Forbidden, task.CodeForbidden,
			"run %d was delegated by %s: only that agent, the owners of the tasks above and people may follow and stop it", id, tk.CreatedBy)
	}
	last, err := rx.DelegatedTask(r.TaskID)
	return last, tk, err
}

// delegationState returns the state of a delegation by its task and newest run.
func delegationState(rx *db.Rx, r *task.Run, tk *task.Task) (d task.Delegated, err error) {
	used, err := rx.TaskUse(tk.ID)
	if err != nil {
		return d, err
	}
	told, files, seen, err := rx.ReportedWork(r.ID)
	if err != nil {
		return d, err
	}
	if r.EndedAt == 0 {
		used = used.Add(told)
	}
	work, err := rx.Work(r.ID, false)
	if err != nil {
		return d, err
	}
	if work != nil && (work.Total > 0 || work.Note == "") {
		files = work.Paths()
	}
	d = task.Delegated{
		RunID: r.ID, TaskID: tk.ID, Status: r.Status, Phase: r.Phase,
		FilesModified: files, FilesRead: seen, Artifacts: append([]string{}, slices.Sorted(slices.Values(r.Artifacts))...), Model: r.Model,
		ToolCalls: used.ToolCalls, TokensUsed: used.Tokens(),
	}
	if work != nil {
		d.Merge = work.Merge
	}
	if r.Status.Final() {
		setOutcome(&d, r, tk)
	}
	if r.Status == task.RunFailed && d.Ended() {
		d.LastWords, err = rx.LastRunText(r.ID)
	}
	return d, err
}

// setOutcome says what the end of the newest run means for the whole.
func setOutcome(d *task.Delegated, r *task.Run, tk *task.Task) {
	switch {
	case tk.Status == task.Done:
		d.Status, d.Phase, d.Success = task.RunCompleted, task.PhaseEnded, true
		d.Summary = task.ShortenSummary(cmp.Or(r.Summary, tk.Summary), r.ID)
	case tk.Status == task.Canceled:
		d.Status, d.Error = task.RunCanceled, "task "+tk.ID.String()+" was canceled"
		if tk.Summary != "" {
			d.Error += ": " + tk.Summary
		}
	case tk.QuestionID != 0:
		d.Status, d.Phase = task.RunPending, task.PhaseQuestion
	case tk.Owner != r.Agent || r.Status == task.RunCompleted:
		d.Status, d.Phase = task.RunPending, task.PhaseHandedOn
	case r.Status == task.RunFailed:
		d.Error = fmt.Sprintf("run %d of agent %s failed (%s) in attempt %d: %s", r.ID, r.Agent, r.Phase, r.Attempt, r.Reason)
	case r.Approval != nil && r.Phase == task.PhaseDenied:
		d.Error = "denied by " + task.ActorLabel(r.Approval.By) + ": " + r.Reason
	default:
		d.Error = fmt.Sprintf("run %d was canceled (%s): %s", r.ID, r.Phase, r.Reason)
	}
}

// Children returns the runs that a run delegated, oldest first, at most 200.
func (s *Service) Children(ctx context.Context, a task.Actor, run task.ID) ([]*task.Run, error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) {
		if err := s.checkRunVisible(rx, a, run); err != nil {
			return nil, err
		}
		return rx.Children(run, 200)
	})
}

// StopDelegated cancels a delegation: its task is canceled with all below
// it, and their processes are stopped. Errors as DelegatedRun; it has ended.
func (s *Service) StopDelegated(ctx context.Context, a task.Actor, id task.ID, reason string) (task.Delegated, error) {
	if err := s.allowedOwn(a, task.Write); err != nil {
		return task.Delegated{}, err
	}
	if err := checkText("reason", reason); err != nil {
		return task.Delegated{}, err
	}
	err := change(ctx, s, a, func(tx *txn) error {
		r, tk, err := s.delegation(&tx.Rx, a, id)
		if err != nil {
			return err
		}
		if tk.Status.Archived() {
			return task.Errorf(task.Conflict, task.CodeRunEnded, "The delegation of run %d has ended: task %d is %s", id, tk.ID, tk.Status)
		}
		why := "stopped by " + task.ActorLabel(a.Name)
		if reason != "" {
			why += ": " + reason
		}
		if r.Status.Final() && r.Status != task.RunCompleted && tk.QuestionID == 0 {
			return endedError(r)
		}
		_, err = tx.cancel(tk, why)
		return err
	})
	if err != nil {
		return task.Delegated{}, err
	}
	return s.readDelegation(ctx, a, id)
}
