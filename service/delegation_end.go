package service

import (
	"context"
	"slices"

	"taskyard/task"
)

// cancelDelegated cancels what a run delegated and that has not ended, with
// its tasks: nobody is left to take the result. What waits for approval stays
// when the run has failed.
func (tx *txn) cancelDelegated(r *task.Run, to task.State, reason string) error {
	children, err := tx.OpenChildren(r.ID)
	if err != nil {
		return err
	}
	why := "run " + r.ID.String() + ", which delegated it, was " + string(to.Status)
	if to.Status == task.RunFailed {
		why = "run " + r.ID.String() + ", which delegated it, failed"
	}
	if reason != "" {
		why += ": " + reason
	}
	for _, c := range children {
		if to.Status == task.RunFailed && c.Phase == task.PhaseApproval {
			continue // a person's decision stays valid: its result resumes the owner of the task above
		}
		tk, err := tx.TaskRow(c.TaskID)
		if err != nil {
			return err
		}
		if tk.Status.Archived() { // its run says its last words
			err = tx.endCanceled(c, task.PhaseBy, why, ErrStopCanceled)
		} else {
			_, err = tx.cancelTree(tk, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// completeDelegated completes the task of a delegated run that has completed,
// with its summary, unless the work continues: a question or a blocker is open,
// another run follows, or somebody else has the task.
func (tx *txn) completeDelegated(r *task.Run, tk *task.Task, summary string) error {
	if !r.Delegated() || tk.QuestionID != 0 || tk.Blocked > 0 || tk.Awaits != "" || tk.Owner != r.Agent || tk.Claim.Live(tx.Now) {
		return nil
	}
	open, err := tx.OpenRun(tk.ID)
	if err != nil || open != nil {
		return err
	}
	if needed, err := tx.s.needsResult(&tx.Rx, tk); err != nil || needed {
		return err // it hands its result in itself
	}
	return tx.archiveDone(tk, summary)
}

// runDelegated reports whether the running run of a parent task delegated the
// subtask: it hears of the end by waiting, or else after its own end.
func (tx *txn) runDelegated(parent, tk *task.Task) (bool, error) {
	if parent.OpenRunID == 0 {
		return false, nil
	}
	return tx.DelegatedBy(parent.OpenRunID, tk.ID)
}

// unreceivedDelegations names the delegations of a run that have ended without the
// run being told, "" if there is none: one more run follows and starts from it.
func (tx *txn) unreceivedDelegations(r *task.Run) (string, error) {
	list, err := tx.UnreceivedDelegations(r.ID)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return "end of the delegated subtasks " + task.JoinIDs(list[:min(len(list), task.MaxSubtasks)], ", "), nil
}

// siblingsOpen reports whether the run that delegated a task has delegated
// another whose run is still open.
func (tx *txn) siblingsOpen(tk *task.Task, run task.ID) (bool, error) {
	list, err := tx.OpenChildren(run)
	return slices.ContainsFunc(list, func(r *task.Run) bool { return r.TaskID != tk.ID }), err
}

// pickDelegated finds a delegated run that works on the place of the run that
// delegated it: else that would hold the place and wait for ever. Of what one
// run delegated one at a time goes beyond the cap of the instance, and runs that
// may be waiting for others do not count against their agent's.
func (d *dispatcher) pickDelegated(total int) (*task.Run, error) {
	list, err := d.QueuedDelegations(d.server())
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		other := d.parent != 0 && l.Run.ParentRun != d.parent
		full := !l.Idle && total >= d.s.config().MaxParallel
		if other || full || d.busy[l.Run.TaskID] || d.s.leaveReason(l.Run) != "" {
			continue
		}
		if ok, err := d.mayTake(l.Run.Agent); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if free, err := d.freeToStart(l.Run.Agent); err != nil || free {
			return l.Run, err
		}
	}
	return nil, nil
}

// freeToStart reports whether an agent is not paused, has a place and budget left, those of
// its runs left aside that may be waiting for what they delegated.
func (tx *txn) freeToStart(agent string) (bool, error) {
	if p, err := tx.pausedBy(agent); err != nil || p != nil {
		return false, err
	}
	if b, err := tx.s.overBudget(&tx.Rx, agent); err != nil || b != nil {
		return false, err
	}
	n, err := tx.Active(agent)
	def, ok := tx.s.agents.Agent(agent)
	return err == nil && (!ok || n < max(1, def.MaxParallel)), err
}

const maxLogged = 4096 // bytes of a transcript line in the log

// logLines shows what a delegated run does to those who read the log.
func (s *Service) logLines(ctx context.Context, r *task.Run, lines []task.Message) {
	for _, m := range lines {
		text := m.Content
		if len(text) > maxLogged {
			text = task.CutText(text, maxLogged) + "…"
		}
		s.log.InfoContext(ctx, "delegated run says", "run_id", r.ID, "task_id", r.TaskID, "agent", r.Agent,
			"role", m.Role, "type", m.Type, "text", text, "data", string(m.Data))
	}
}
