package service

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/internal/sleep"
	"taskyard/task"
)

// submission is the completion of a task that must prove its result, or one
// check of it that is run again: what was found out before anything is written.
type submission struct {
	task    *task.Task
	project *task.Project // an empty one for none
	inForce []task.InForce
	again   string // name of the one check that is run again, "" in a completion
	tree    task.Worktree
	summary string
	claim   int64
	rev     *task.Revision // nil: no repository
	checks  []task.CheckRun

	caller task.Actor
	idem   *Idempotency // of the call that began it, or nil
	stored Idempotency  // a copy for the write, as that call may have been answered
	since  task.Time
	done   chan struct{} // closed when out or err is set
	out    *task.Task
	err    error
}

func (sub *submission) completed() *task.Task { return sub.out }

func (sub *submission) checked() task.CheckRun { return sub.checks[0] }

// newSubmission reads what completing a task needs, nil where it is done at once.
// Errors: as CompleteTask.
func (s *Service) newSubmission(ctx context.Context, a task.Actor, id task.ID, summary string, claim int64) (*submission, error) {
	return read(ctx, s, func(rx *db.Rx) (*submission, error) {
		tk, err := rx.TaskWithTexts(id)
		if err != nil {
			return nil, err
		}
		if needed, err := s.needsResult(rx, tk); err != nil || !needed {
			return nil, err
		}
		if err := s.checkVisible(rx, a, id); err != nil {
			return nil, err
		}
		if err := mayEnd(rx, a, tk, task.Done, claim); err != nil {
			return nil, err
		}
		if tk.Awaits == task.WaitsMerge {
			return nil, task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d %s", id, awaitsText(tk))
		}
		sub := &submission{task: tk, summary: summary, claim: claim}
		return sub, s.prepare(rx, sub)
	})
}

// prepare says what is looked at, and where.
func (s *Service) prepare(rx *db.Rx, sub *submission) (err error) {
	if sub.project, err = projectOrNone(rx, sub.task.Project); err != nil {
		return err
	}
	if sub.inForce, _, err = s.inForce(rx, sub.task, sub.project); err != nil || sub.project.Repository == "" {
		return err
	}
	sub.tree, err = taskWorktree(rx, sub.task, sub.project)
	return err
}

// taskWorktree returns where the runs of a task work. A subtask begins on the
// branch of its parent and is merged back into it.
func taskWorktree(rx *db.Rx, tk *task.Task, p *task.Project) (task.Worktree, error) {
	w := task.Worktree{TaskID: tk.ID, Title: tk.Title, Repository: p.Repository, Target: p.DefaultBranch}
	if p.Merge != nil {
		w.Target = p.Merge.Into
	}
	var err error
	if w.Branch, w.Origin, err = rx.TaskBranch(tk.ID, task.WorktreeWorkspace(p.Repository)); err != nil {
		return w, err
	}
	if w.Branch == "" {
		w.Branch = p.Branch(tk.ID, tk.Title)
	}
	parent, err := parentInProject(rx, tk)
	if err != nil || parent == nil {
		return w, err
	}
	above, err := taskWorktree(rx, parent, p)
	w.Target = above.Branch
	return w, err
}

// parentInProject returns the task above if its result takes this one in, else nil.
func parentInProject(rx *db.Rx, tk *task.Task) (*task.Task, error) {
	if tk.ParentTaskID == 0 || tk.Project == "" {
		return nil, nil
	}
	p, err := rx.TaskRow(tk.ParentTaskID)
	if err != nil || p.Project != tk.Project || p.Status.Archived() {
		return nil, err
	}
	return p, nil
}

// submit runs the checks of a completion and writes its result, and waits
// for that at most task.MaxWait: checks may take an hour, and no connection is
// held so long. The same call made again waits on, or gets what came out
// meanwhile. Error: the checks are still running.
func (s *Service) submit(ctx context.Context, a task.Actor, sub *submission) (*task.Task, error) {
	sub.caller, sub.idem = a, idempotencyFromContext(ctx)
	mine, err := s.submissions.join(sub, s.Now())
	if err != nil {
		return nil, err
	}
	if mine == sub {
		go s.runSubmission(context.WithoutCancel(ctx), sub)
	}
	return awaitSubmission(ctx, s, a, mine, (*submission).completed)
}

// awaitSubmission waits for the end of a submission and returns what came out. That is
// stored for the key of the call that began it; for one that has joined it here.
func awaitSubmission[T any](ctx context.Context, s *Service, a task.Actor, mine *submission, out func(*submission) T) (none T, err error) {
	if err := s.awaitChecks(ctx, mine); err != nil {
		return none, err
	}
	i := idempotencyFromContext(ctx)
	switch {
	case i == nil:
		return out(mine), nil
	case i == mine.idem:
		i.Replayed = mine.stored.Replayed
		return out(mine), nil
	}
	return mutate(ctx, s, a, func(*txn) (T, error) { return out(mine), nil })
}

// awaitChecks waits for the end of a submission, at most task.MaxWait.
func (s *Service) awaitChecks(ctx context.Context, mine *submission) error {
	select {
	case <-mine.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(task.MaxWait):
		return task.Errorf(task.Conflict, task.CodeChecksRunning,
			"The checks of task %d are still running. Make the same call again to wait for them", mine.task.ID)
	}
	s.submissions.forget(mine)
	return mine.err
}

// runSubmission gathers the evidence and writes the result. The timeouts of the run
// that asked for it are paused meanwhile, and its claim is renewed.
func (s *Service) runSubmission(ctx context.Context, sub *submission) {
	defer close(sub.done)
	sub.caller.Session = "" // whoever signs out while the checks run has asked for them all the same
	ctx, stop := context.WithCancelCause(WithIdempotency(ctx, nil))
	defer stop(nil)
	checking, refuse := context.WithCancelCause(ctx) // the write that follows is not cut off
	defer refuse(nil)
	go s.watchSubmission(ctx, sub, stop, refuse)
	if sub.caller.RunID != 0 {
		defer s.beginWait(sub.caller.RunID)()
	}
	defer s.keepClaim(ctx, sub)()
	if sub.err = s.gather(checking, sub); sub.err != nil {
		return
	}
	if i := sub.idem; i != nil {
		sub.stored = Idempotency{Caller: i.Caller, Key: i.Key, Request: i.Request}
		ctx = WithIdempotency(ctx, &sub.stored)
	}
	if sub.again != "" {
		sub.checks[0], sub.err = mutate(ctx, s, sub.caller, func(tx *txn) (task.CheckRun, error) {
			err := tx.keepAgain(sub)
			return sub.checks[0], err
		})
		return
	}
	sub.out, sub.err = mutate(ctx, s, sub.caller, func(tx *txn) (*task.Task, error) {
		if err := tx.keepResult(sub); err != nil {
			return nil, err
		}
		return tx.Task(sub.task.ID)
	})
}

// watchSubmission stops a submission when the server stops, and refuses its checks
// when it would be refused at its end: its run was canceled, for example. They
// would work in the worktree beside the next run.
func (s *Service) watchSubmission(ctx context.Context, sub *submission, stop, refuse context.CancelCauseFunc) {
	changed := s.hub.Subscribe("task:" + sub.task.ID.String())
	defer changed.Close()
	for {
		_, err := read(ctx, s, func(rx *db.Rx) (struct{}, error) { return struct{}{}, checkSubmission(rx, sub) })
		if isRefusal(err) {
			refuse(err)
		}
		select {
		case <-s.hub.Done():
			stop(task.Errorf(task.Unavailable, task.CodeUnavailable, "The server stopped while the checks ran: complete the task again"))
			return
		case <-sub.done:
			return
		case <-changed.C:
		}
	}
}

// isRefusal reports whether an error is about the task or the caller: the database
// that cannot be reached now may be back when the checks end.
func isRefusal(err error) bool {
	refused, ok := errors.AsType[*task.Error](err)
	return ok && refused.Kind != task.Unavailable
}

// checkSubmission returns the error with which a submission would be refused now.
func checkSubmission(rx *db.Rx, sub *submission) error {
	if err := checkCaller(rx, sub.caller); err != nil {
		return err
	}
	tk, err := rx.TaskWithTexts(sub.task.ID)
	switch {
	case err != nil:
		return err
	case sub.again != "":
		return mayRunCheck(tk)
	}
	return mayEnd(rx, sub.caller, tk, task.Done, sub.claim)
}

// keepClaim renews the claim under which a task is completed while its checks
// run.
func (s *Service) keepClaim(ctx context.Context, sub *submission) (stop func()) {
	if sub.task.Claim == nil || sub.again != "" {
		return func() {}
	}
	beating, end := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		for sleep.For(beating, max(s.config().Lease/4, time.Second)) {
			if _, err := s.Heartbeat(ctx, sub.caller, sub.task.ID, sub.task.Claim.ID); err != nil {
				return // who completes it finds out
			}
		}
	})
	return func() { end(); ended.Wait() }
}

// gather looks at the change and executes the checks.
func (s *Service) gather(ctx context.Context, sub *submission) error {
	git := s.config().Repositories
	if sub.project.Repository != "" {
		if git == nil {
			return noRepositoriesError()
		}
		author := sub.caller.Name
		if sub.task.OpenRunID != 0 || sub.again != "" {
			author = sub.task.Owner
		}
		var err error
		if sub.rev, err = git.Snapshot(ctx, sub.tree, author); err != nil {
			return err
		}
	}
	for _, f := range sub.inForce {
		c := f.Check
		if sub.again != "" && c.Name != sub.again {
			continue
		}
		run := s.check(ctx, sub, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		run.TaskID, run.Name, run.Required = sub.task.ID, c.Name, c.Required
		sub.checks = append(sub.checks, run)
	}
	return nil
}

// check gathers one piece of evidence.
func (s *Service) check(ctx context.Context, sub *submission, c task.Check) task.CheckRun {
	if c.Kind != task.CheckURL {
		return s.config().Repositories.Check(ctx, sub.tree, sub.rev, c)
	}
	run := task.CheckRun{Verdict: task.CheckFailed, Command: "a URL among the resources", Reason: "the task has no resource of the type url"}
	for _, r := range sub.task.Resources {
		if r.Type == "url" {
			run.Verdict, run.Reason = task.CheckPassed, ""
		}
	}
	return run
}

// keepResult writes what a completion found: a result, or why it is refused.
func (tx *txn) keepResult(sub *submission) error {
	tk, err := tx.TaskWithTexts(sub.task.ID)
	if err != nil {
		return err
	}
	if err := mayEnd(&tx.Rx, tx.actor, tk, task.Done, sub.claim); err != nil {
		return err
	}
	list, accept, err := tx.s.inForce(&tx.Rx, tk, sub.project)
	if err != nil {
		return err
	}
	if tk.Project != sub.project.Key || tk.Awaits == task.WaitsMerge || !reflect.DeepEqual(list, sub.inForce) {
		return task.Errorf(task.Conflict, task.CodeStaleVersion, "Task %d changed while its checks ran: complete it again", tk.ID)
	}
	if took, err := tx.MergedSubtaskSince(tk.ID, sub.tree.Branch, sub.since); err != nil {
		return err
	} else if took {
		return task.Errorf(task.Conflict, task.CodeStaleVersion,
			"A subtask of task %d was merged into its branch while its checks ran: complete it again", tk.ID)
	}
	run := tx.actor.RunID
	failed := failedChecks(sub.checks)
	if len(failed) > 0 {
		refused, err := tx.RefusedCompletions(tk.ID, run)
		if err != nil {
			return err
		}
		if refused+1 < tx.s.config().CheckAttempts || run == 0 {
			return tx.refuseCompletion(tk, sub, failed, refused+1)
		}
	}
	return tx.insertResult(tk, sub, accept, failed)
}

// refuseCompletion keeps what the checks found, and answers with it.
func (tx *txn) refuseCompletion(tk *task.Task, sub *submission, failed []task.CheckRun, attempt int) error {
	names := make([]string, len(failed))
	for i, c := range failed {
		names[i] = c.Name
	}
	for _, c := range sub.checks {
		if _, err := tx.InsertCheckRun(c, 0, tx.actor.RunID); err != nil {
			return err
		}
	}
	if err := tx.event(task.EvChecksFailed, task.Event{TaskID: tk.ID, Agent: tk.Owner, RunID: tx.actor.RunID},
		changes{"checks": names, "attempt": attempt}); err != nil {
		return err
	}
	e := task.Errorf(task.Conflict, task.CodeChecksFailed, "%s: task %d is not completed: %s",
		task.CodeChecksFailed, tk.ID, checksText(failed))
	if tx.actor.RunID != 0 {
		e.Message += fmt.Sprintf("\nFix the cause and complete the task again (attempt %d of %d).", attempt, tx.s.config().CheckAttempts)
	}
	tx.verdict = e
	return nil
}

// insertResult writes a result and moves its task on: to people, to the merge
// queue, or into history.
func (tx *txn) insertResult(tk *task.Task, sub *submission, accept task.Accept, failed []task.CheckRun) error {
	r := &task.Result{
		TaskID: tk.ID, RunID: tx.actor.RunID, Author: tx.actor.Name, Summary: sub.summary, Resources: tk.Resources,
		Project: sub.project.Key, Policy: accept, Flags: []string{}, State: task.ResultReview,
	}
	var files []string
	if sub.rev != nil {
		for _, f := range sub.rev.Files {
			files = append(files, f.Path)
		}
		r.Branch, r.Base, r.Head, r.Patch = sub.tree.Branch, sub.rev.Base, sub.rev.Head, sub.rev.Patch
		parent, err := parentInProject(&tx.Rx, tk)
		if err != nil {
			return err
		}
		if sub.rev.Total == 0 && parent == nil {
			r.Flags = append(r.Flags, noChanges)
		}
	}
	if again, err := tx.FailedToMerge(tk.ID, r.Head, r.Patch); err != nil {
		return err
	} else if again {
		r.Flags = append(r.Flags, task.FlagUnmergeable)
	}
	for _, c := range failed {
		r.Flags = append(r.Flags, "check "+c.Name+" "+verdictText(c))
	}
	r.Digest = task.ResultDigest(r.Patch, r.Summary, sub.checks)
	last, err := tx.LastResult(tk.ID)
	if err != nil {
		return err
	}
	if last != nil && last.State == task.ResultReview {
		if last.Digest == r.Digest && last.Head == r.Head && reflect.DeepEqual(last.Policy, r.Policy) {
			return nil // said before
		}
		if err := tx.CloseResults(tk.ID, task.ResultSuperseded); err != nil {
			return err
		}
	}
	return tx.issue(tk, r, sub.checks, files, sub.project)
}

// noChanges is the flag of a result that changes nothing.
const noChanges = "no changes"

// issue writes a result with its checks and the files that it changes, ends the work on its task, and decides
// by the votes that its digest has already.
func (tx *txn) issue(tk *task.Task, r *task.Result, checks []task.CheckRun, files []string, p *task.Project) (err error) {
	if r.ID, err = tx.InsertResult(r); err != nil {
		return err
	}
	if err := tx.InsertResultFiles(r.ID, r.Project, files); err != nil {
		return err
	}
	for i := range checks {
		if checks[i].ID, err = tx.InsertCheckRun(checks[i], r.ID, tx.actor.RunID); err != nil {
			return err
		}
	}
	if tk.Project == "" && !slices.Contains(tk.BoundBy, tk.Owner) { // a task with a result is never done without one
		tk.BoundBy = append(slices.Clone(tk.BoundBy), tk.Owner)
		if err := tx.SetDemands(tk.ID, tk.Demands); err != nil {
			return err
		}
	}
	if err := tx.event(task.EvResultCreated, task.Event{TaskID: tk.ID, Agent: tk.Owner, RunID: r.RunID},
		changes{"result": r.Number, "digest": r.Digest, "head": r.Head, "flags": r.Flags}); err != nil {
		return err
	}
	if err := tx.endWork(tk); err != nil {
		return err
	}
	full, err := tx.ResultByID(r.ID) // with the votes on its digest: a clean rebase keeps them
	if err != nil {
		return err
	}
	return tx.decideResult(tk, full, p)
}

// endWork ends the claim and the run of a task whose result is in.
func (tx *txn) endWork(tk *task.Task) error {
	if err := tx.closeRun(tk, "the result was submitted", true); err != nil {
		return err
	}
	now, err := tx.TaskRow(tk.ID)
	if err != nil || now.Claim == nil {
		return err
	}
	return tx.release(now, "result handed in")
}

// decideResult moves a task on by the votes on its result: it waits for people, for
// the merge, or is done.
func (tx *txn) decideResult(tk *task.Task, r *task.Result, p *task.Project) error {
	tx.inboxIf(true)
	switch {
	case r.VotesMissing() > 0:
		if tk.Awaits != task.WaitsReview {
			if err := tx.enqueueNotification(task.OutApproval, tk.ID, tk.Title, tk.Owner, 0,
				fmt.Sprintf("result %d waits for review", r.Number)); err != nil {
				return err
			}
		}
		return tx.SetAwaits(tk.ID, task.WaitsReview)
	case r.Head != "" && r.Head != r.Base:
		parent, err := parentInProject(&tx.Rx, tk)
		if err != nil {
			return err
		}
		if p.Merge != nil || parent != nil {
			return tx.queueMerge(tk, r, p)
		}
	}
	if _, err := tx.MoveResult(r.ID, task.ResultReview, task.ResultDone); err != nil {
		return err
	}
	return tx.archiveDone(tk, r.Summary)
}

// reviewNeededError refuses what would complete a task that must prove its result
// beside its checks and its review.
func reviewNeededError(tk *task.Task) error {
	why := "has checks or a review"
	if tk.Project != "" {
		why = "belongs to project " + tk.Project
	}
	return task.Errorf(task.Conflict, task.CodeReviewNeeded,
		"Task %d %s: complete it by its own call (POST /api/tasks/%d/complete, or complete_task), "+
			"so that its checks run and its result is reviewed", tk.ID, why, tk.ID)
}
