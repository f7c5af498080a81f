package service

import (
	"context"
	"math"
	mrand "math/rand/v2"
	"time"

	"taskyard/task"
)

// conclude writes the end of a run, and looks what is left of the budgets.
func (tx *txn) conclude(r *task.Run, f Finished) error {
	f, err := tx.withOwnClosing(r, f)
	if err != nil {
		return err
	}
	if err := tx.keepWork(r, f.Work); err != nil {
		return err
	}
	if err := tx.finish(r, f); err != nil {
		return err
	}
	return tx.enforceBudgets(r)
}

// Finished is how a run ended, by the verdict of its supervisor.
type Finished struct {
	State     task.State
	Reason    string
	Summary   string
	Artifacts []string
	Usage     task.Usage
	Permanent bool          // a retry is useless
	After     time.Duration // when the model's provider says to ask again; 0: it does not
	Work      *task.Work    // what it left in its workspace; nil: nobody looked

	dayOver bool // a budget of the day ended it: a retry starts on the next day
}

// retries reports whether a failed run is worth another attempt. Every limit,
// time too, is final for a delegated run, and so is a long wait for a provider:
// its parent waits for it, and decides what follows.
func (f Finished) retries(r *task.Run) bool {
	if r.Delegated() && (f.State.Phase == task.PhaseTimeout || f.After > maxDelegatedWait) {
		return false
	}
	return !f.Permanent && (f.dayOver || !f.State.Phase.OverLimit())
}

// FinishRun writes the end of a run, and what follows from it: a retry with
// back-off after a failure that a retry may not meet, one follow-up run after a
// wake that met it.
// Errors: stale lease.
func (s *Service) FinishRun(ctx context.Context, id task.ID, lease int64, f Finished) error {
	return s.finishRun(ctx, id, lease, f, func(*txn, *task.Run) error { return nil })
}

func (s *Service) finishRun(ctx context.Context, id task.ID, lease int64, f Finished, may func(*txn, *task.Run) error) error {
	var run *task.Run
	err := change(ctx, s, task.SystemActor, func(tx *txn) (err error) {
		if run, err = tx.leasedRun(id, lease); err != nil {
			return err
		}
		if err := may(tx, run); err != nil {
			return err
		}
		return tx.conclude(run, f)
	})
	if err == nil {
		s.logEnd(ctx, run, f)
	}
	return err
}

func (s *Service) logEnd(ctx context.Context, run *task.Run, f Finished) {
	if run.Delegated() {
		s.log.InfoContext(ctx, "delegated run ended", "run_id", run.ID, "task_id", run.TaskID, "agent", run.Agent, "parent_run", run.ParentRun,
			"success", f.State.Status == task.RunCompleted, "state", f.State.String(), "tokens", f.Usage.Tokens(), "tool_calls", f.Usage.ToolCalls)
	}
}

func (tx *txn) finish(r *task.Run, f Finished) error {
	if err := tx.voidPermission(r); err != nil {
		return err
	}
	if r.Phase != task.PhaseWorking && r.Phase != task.PhaseCondensing && f.State.Status == task.RunCompleted {
		if err := tx.enterPhase(r, task.PhaseWorking); err != nil {
			return err
		}
	}
	if err := tx.noteMCP(r, f); err != nil {
		return err
	}
	if f.State.Status == task.RunFailed {
		f.Summary = ""
	}
	f.Summary = task.ShortenSummary(f.Summary, r.ID)
	if line := resultLine(f); line.Content != "" {
		line.TaskID, line.RunID, line.Kind, line.Author = r.TaskID, r.ID, task.KindRun, r.Agent
		if _, err := tx.InsertMessage(line); err != nil {
			return err
		}
	}
	if err := tx.end(r, f.State, runEnd{reason: f.Reason, summary: f.Summary, artifacts: f.Artifacts, usage: f.Usage}, nil); err != nil {
		return err
	}
	if err := tx.enforceTreeLimits(r); err != nil {
		return err
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil || tk.Status != task.Active {
		return err
	}
	if f.State.Status == task.RunFailed {
		return tx.failed(r, tk, f)
	}
	if err := tx.SetFailures(tk.ID, 0); err != nil {
		return err
	}
	if f.State.Status == task.RunCompleted && !r.FollowUp {
		if r.FollowUpReason, err = tx.unreceivedDelegations(r); err != nil {
			return err
		}
		r.FollowUp = r.FollowUpReason != ""
	}
	if err := tx.followUp(r, tk); err != nil || f.State.Status != task.RunCompleted {
		return err
	}
	return tx.completeDelegated(r, tk, f.Summary)
}

func resultLine(f Finished) task.Message {
	if f.State.Status == task.RunFailed {
		return task.Message{Role: task.SpeakerSystem, Type: "error", Content: f.Reason}
	}
	return task.Message{Role: task.SpeakerAssistant, Type: "result", Content: f.Summary}
}

// failed counts the failure and tries again, until the task needs a person.
func (tx *txn) failed(r *task.Run, tk *task.Task, f Finished) error {
	n := tk.Failures + 1
	if !f.retries(r) {
		n = max(n, tx.s.config().Attempts)
	}
	if err := tx.SetFailures(tk.ID, n); err != nil {
		return err
	}
	if err := tx.pauseFailing(r, f.State.Phase); err != nil {
		return err
	}
	if n >= tx.s.config().Attempts {
		if err := tx.event(task.EvTaskStuck, task.Event{TaskID: tk.ID, RunID: r.ID, Agent: tk.Owner},
			changes{"failures": n, "reason": f.Reason}); err != nil {
			return err
		}
		if err := tx.enqueueNotification(task.OutFailure, tk.ID, tk.Title, tk.Owner, r.ID, r.Agent+" failed: "+f.Reason); err != nil {
			return err
		}
		if !r.Delegated() {
			return nil
		}
		return tx.wakeParent(tk, "failed") // who delegated it continues without
	}
	def, err := tx.startableOwner(tk)
	if err != nil || tk.QuestionID != 0 || tk.Blocked > 0 || tk.Awaits != "" || tk.Owner != r.Agent {
		return nil // ticks will see to it
	}
	next := newRun{cause: task.CauseRetry, attempt: n + 1, retryOf: r.ID, reason: r.FollowUpReason}
	if f.State.Phase == task.PhaseLost {
		next.session, next.folder = r.Session, r.Folder
	} else {
		next.notBefore = tx.Now.Add(max(tx.s.config().Backoff(n-1), min(f.After, maxRetryAfter)))
	}
	_, err = tx.createRun(tk, def, next)
	return err
}

// followUp makes the one run that a wake during this one asked for.
func (tx *txn) followUp(r *task.Run, tk *task.Task) error {
	if !r.FollowUp || !tx.s.config().Wakes || tk.QuestionID != 0 || tk.Blocked > 0 || tk.Awaits != "" || tk.Claim.Live(tx.Now) {
		return nil
	}
	def, err := tx.startableOwner(tk)
	if err != nil {
		return nil // nothing to start: it claims its work itself
	}
	return tx.budgeted(tk, def, task.CauseFollowUp, r.FollowUpReason)
}

// How long a provider may have a retry wait, at most.
const (
	maxRetryAfter    = 24 * time.Hour
	maxDelegatedWait = 5 * time.Minute // of a delegated run; a longer wait is final
)

// backoff is min(30 s · 2ⁿ, 1 h) ± 20 %.
func backoff(n int) time.Duration {
	d := min(30*time.Second*time.Duration(math.Pow(2, float64(min(n, 10)))), time.Hour)
	return time.Duration(float64(d) * (0.8 + 0.4*mrand.Float64()))
}
