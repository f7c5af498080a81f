package service

import (
	"context"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// RunCheck runs one check of a task again and keeps what it found. While a result
// of the same commit waits for people, another verdict of a required check makes
// a new result, on which nobody has voted. It waits as CompleteTask does. Errors:
// not a person, unknown task or check, a run works in the worktree, the checks
// still run.
func (s *Service) RunCheck(ctx context.Context, a task.Actor, id task.ID, name string) (task.CheckRun, error) {
	if err := s.allowed(a, task.Person); err != nil {
		return task.CheckRun{}, err
	}
	sub := s.submissions.find(id, a, name, "", s.Now())
	if sub == nil {
		fresh, err := read(ctx, s, func(rx *db.Rx) (*submission, error) { return s.newCheckRun(rx, a, id, name) })
		if out, known, err := answered[task.CheckRun](ctx, s); known || err != nil {
			return out, err
		}
		if err != nil {
			return task.CheckRun{}, err
		}
		fresh.caller, fresh.idem = a, idempotencyFromContext(ctx)
		if sub, err = s.submissions.join(fresh, s.Now()); err != nil {
			return task.CheckRun{}, err
		}
		if sub == fresh {
			go s.runSubmission(context.WithoutCancel(ctx), sub)
		}
	}
	return awaitSubmission(ctx, s, a, sub, (*submission).checked)
}

// newCheckRun reads what running one check needs.
func (s *Service) newCheckRun(rx *db.Rx, a task.Actor, id task.ID, name string) (*submission, error) {
	tk, err := rx.TaskWithTexts(id)
	if err != nil {
		return nil, err
	}
	if err := mayRunCheck(tk); err != nil {
		return nil, err
	}
	sub := &submission{task: tk, again: name}
	if err := s.prepare(rx, sub); err != nil {
		return nil, err
	}
	var names []string
	for _, c := range sub.inForce {
		if c.Name == name {
			return sub, nil
		}
		names = append(names, c.Name)
	}
	known := "it has no checks"
	if len(names) > 0 {
		known = "its checks are " + strings.Join(names, ", ")
	}
	return nil, task.Errorf(task.NotFound, task.CodeNotFound, "There is no active check %s for task %d: %s", task.Quote(name), id, known)
}

// mayRunCheck refuses a check where it would not say anything about a result, or
// a run works in the worktree.
func mayRunCheck(tk *task.Task) error {
	switch {
	case tk.Status.Archived():
		return archivedError(tk)
	case tk.Awaits == task.WaitsMerge:
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s", tk.ID, awaitsText(tk))
	case tk.OpenRunID != 0 && tk.OpenRunPhase != task.PhaseApproval && tk.OpenRunPhase != task.PhaseQueued:
		return task.Errorf(task.Conflict, task.CodeRunOpen,
			"Run %d works in the worktree of task %d: run the check when it has ended", tk.OpenRunID, tk.ID)
	}
	return nil
}

// keepAgain writes what a check found that was run again.
func (tx *txn) keepAgain(sub *submission) error {
	run := &sub.checks[0]
	run.AskedBy, run.CreatedAt = tx.actor.Name, tx.Now
	tk, err := tx.TaskWithTexts(sub.task.ID)
	if err != nil {
		return err
	}
	if err := tx.taskEvent(task.EvCheckRun, tk, changes{"check": run.Name, "verdict": run.Verdict}); err != nil {
		return err
	}
	last, err := tx.LastResult(tk.ID)
	if err != nil {
		return err
	}
	if last != nil && last.State == task.ResultReview && tk.Awaits == task.WaitsReview && (sub.rev == nil || sub.rev.Head == last.Head) {
		for i, c := range last.Checks {
			if c.Name == run.Name && c.Required && c.Verdict != run.Verdict {
				last.Checks[i] = *run
				err := tx.reissue(tk, last, last.Checks)
				*run = last.Checks[i]
				return err
			}
		}
	}
	run.ID, err = tx.InsertCheckRun(*run, 0, 0)
	return err
}

// reissue replaces an open result by one of the same change, with these verdicts
// and under the policy that is in force now.
func (tx *txn) reissue(tk *task.Task, last *task.Result, checks []task.CheckRun) error {
	p, err := projectOrNone(&tx.Rx, last.Project)
	if err != nil {
		return err
	}
	r := *last
	r.State = task.ResultReview
	if _, r.Policy, err = tx.s.inForce(&tx.Rx, tk, p); err != nil {
		return err
	}
	r.Flags = []string{}
	for _, flag := range []string{noChanges, task.FlagUnmergeable} {
		if slices.Contains(last.Flags, flag) {
			r.Flags = append(r.Flags, flag)
		}
	}
	for i := range checks {
		if checks[i].ID == 0 {
			continue // was just run, with its log
		}
		if checks[i], err = tx.CheckRun(tk.ID, checks[i].ID); err != nil {
			return err
		}
	}
	for _, c := range failedChecks(checks) {
		r.Flags = append(r.Flags, "check "+c.Name+" "+verdictText(c))
	}
	r.Digest = task.ResultDigest(r.Patch, r.Summary, checks)
	files, err := tx.ResultFiles(last.ID)
	if err != nil {
		return err
	}
	if err := tx.CloseResults(tk.ID, task.ResultSuperseded); err != nil {
		return err
	}
	return tx.issue(tk, &r, checks, files, p)
}
