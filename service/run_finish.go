package service

import (
	"context"
	"math"
	mrand "math/rand/v2"
	"time"

	"taskyard/task"
)

// conclude writes the end of a run, and looks what is left of the budgets.
func (t *tx) conclude(r *task.Run, f Finished) error {
	f, err := t.closedOwn(r, f)
	if err != nil {
		return err
	}
	if err := t.keepWork(r, f.Work); err != nil {
		return err
	}
	if err := t.finish(r, f); err != nil {
		return err
	}
	return t.keepBudgets(r)
}

// Finished is how a run ended, by the verdict of its supervisor.
type Finished struct {
	State     task.State
	Reason    string
	Summary   string
	Artifacts []string
	Usage     task.Usage
	Permanent bool       // a retry is useless
	Work      *task.Work // what it left in its workspace; nil: nobody looked
}

// FinishRun writes the end of a run, and what follows from it: a retry with
// back-off after a failure, one follow-up run after a wake that met it.
// Errors: stale lease.
func (s *Service) FinishRun(ctx context.Context, id task.ID, lease int64, f Finished) error {
	return s.finishRun(ctx, id, lease, f, func(*task.Run, task.Time) error { return nil })
}

func (s *Service) finishRun(ctx context.Context, id task.ID, lease int64, f Finished, may func(now *task.Run, at task.Time) error) error {
	var run *task.Run
	err := change(ctx, s, task.SystemActor, func(t *tx) (err error) {
		if run, err = t.held(id, lease); err != nil {
			return err
		}
		if err := may(run, t.Now); err != nil {
			return err
		}
		return t.conclude(run, f)
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

func (t *tx) finish(r *task.Run, f Finished) error {
	if err := t.voidPermission(r); err != nil {
		return err
	}
	if r.Phase != task.PhaseWorking && r.Phase != task.PhaseCondensing && f.State.Status == task.RunCompleted {
		if ok, err := t.MoveRun(r, task.State{Status: task.RunRunning, Phase: task.PhaseWorking}); err != nil || !ok {
			return orEnded(r, err)
		}
		r.Phase = task.PhaseWorking
	}
	if f.State.Status == task.RunFailed {
		f.Summary = ""
	}
	f.Summary = task.Condense(f.Summary, r.ID)
	if line := resultLine(f); line.Content != "" {
		line.TaskID, line.RunID, line.Kind, line.Author = r.TaskID, r.ID, task.KindRun, r.Agent
		if _, err := t.InsertMessage(line); err != nil {
			return err
		}
	}
	if err := t.end(r, f.State, ending{reason: f.Reason, summary: f.Summary, artifacts: f.Artifacts, usage: f.Usage}, nil); err != nil {
		return err
	}
	if err := t.keepTree(r); err != nil {
		return err
	}
	k, err := t.TaskBare(r.TaskID)
	if err != nil || k.Status != task.Active {
		return err
	}
	if f.State.Status == task.RunFailed {
		return t.failed(r, k, f)
	}
	if err := t.SetFailures(k.ID, 0); err != nil {
		return err
	}
	if f.State.Status == task.RunCompleted && !r.FollowUp {
		if r.FollowUp, err = t.unheard(r); err != nil {
			return err
		}
	}
	if err := t.followUp(r, k); err != nil || f.State.Status != task.RunCompleted {
		return err
	}
	return t.completeDelegated(r, k, f.Summary)
}

func resultLine(f Finished) task.Message {
	if f.State.Status == task.RunFailed {
		return task.Message{Role: task.SpeakerSystem, Type: "error", Content: f.Reason}
	}
	return task.Message{Role: task.SpeakerAssistant, Type: "result", Content: f.Summary}
}

// failed counts the failure and tries again, until the task needs a person.
func (t *tx) failed(r *task.Run, k *task.Task, f Finished) error {
	n := k.Failures + 1
	if f.Permanent {
		n = max(n, t.s.cfg.Attempts)
	}
	if err := t.SetFailures(k.ID, n); err != nil {
		return err
	}
	if err := t.pauseFailing(r, f.State.Phase); err != nil {
		return err
	}
	if n >= t.s.cfg.Attempts {
		if err := t.event(task.EvTaskStuck, task.Event{TaskID: k.ID, RunID: r.ID, Agent: k.Owner}, changes{"failures": n, "reason": f.Reason}); err != nil {
			return err
		}
		if err := t.enqueueNotification(task.OutFailure, k.ID, k.Title, k.Owner, r.ID, r.Agent+" failed: "+f.Reason); err != nil {
			return err
		}
		if !r.Delegated() {
			return nil
		}
		return t.wakeParent(k, "failed") // who delegated it continues without
	}
	def, err := t.s.starter(k.Owner)
	if err != nil || k.QuestionID != 0 || k.Blocked > 0 || k.Owner != r.Agent {
		return nil // ticks will see to it
	}
	next := newRun{cause: task.CauseRetry, attempt: n + 1, retryOf: r.ID}
	if f.State.Phase == task.PhaseLost {
		next.session, next.folder = r.Session, r.Folder
	} else {
		next.notBefore = t.Now.Add(t.s.cfg.Backoff(n - 1))
	}
	_, err = t.createRun(k, def, next)
	return err
}

// followUp makes the one run that a wake during this one asked for.
func (t *tx) followUp(r *task.Run, k *task.Task) error {
	if !r.FollowUp || !t.s.cfg.Wakes || k.QuestionID != 0 || k.Blocked > 0 || k.Claim.Live(t.Now) {
		return nil
	}
	def, err := t.s.starter(k.Owner)
	if err != nil {
		return nil // nothing to start: it claims its work itself
	}
	return t.budgeted(k, def, task.CauseFollowUp, "news during run "+r.ID.String())
}

// backoff is min(30 s · 2ⁿ, 1 h) ± 20 %.
func backoff(n int) time.Duration {
	d := min(30*time.Second*time.Duration(math.Pow(2, float64(min(n, 10)))), time.Hour)
	return time.Duration(float64(d) * (0.8 + 0.4*mrand.Float64()))
}
