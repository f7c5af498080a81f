package service

import (
	"testing"
	"time"

	"taskyard/task"
)

var (
	waiting = task.State{Status: task.RunPending, Phase: task.PhaseApproval}
	queued  = task.State{Status: task.RunPending, Phase: task.PhaseQueued}
)

// waits makes a task of an agent whose run waits for approval.
func (y *instance) waits() (*task.Task, *task.Run) {
	y.t.Helper()
	tk := y.create(planner, "coder", noStart)
	return tk, y.ask(tk.ID)
}

// ask has an agent's task run, which needs approval.
func (y *instance) ask(id task.ID) *task.Run {
	y.t.Helper()
	r := must(y.s.RunNow(y.ctx(), maya, id))
	equal(y.t, "state", r.State(), waiting)
	return r
}

func (y *instance) approve(id task.ID, scope task.Scope) *task.Run {
	y.t.Helper()
	return must(y.s.ApproveRun(y.ctx(), rita, id, Approve{Scope: scope}))
}

func TestWhichRunsNeedApproval(t *testing.T) {
	for name, c := range map[string]struct {
		policy  task.Policy
		creator task.Actor
		want    task.State
	}{
		"delegated: a task of a person does not":  {task.ApproveDelegated, maya, queued},
		"delegated: a task of an agent does":      {task.ApproveDelegated, planner, waiting},
		"delegated: a task of the system doesn't": {task.ApproveDelegated, task.SystemActor, queued},
		"always: a task of a person does":         {task.ApproveAlways, maya, waiting},
		"always: a task of an agent does":         {task.ApproveAlways, planner, waiting},
		"never: a task of an agent does not":      {task.ApproveNever, planner, queued},
	} {
		t.Run(name, func(t *testing.T) {
			y := newInstance(t, wakes, func(cfg *Config) { cfg.Policy = c.policy })
			equal(t, "state", y.openRun(y.create(c.creator, "coder").ID).State(), c.want)
		})
		t.Run(name+", also when its definition says so", func(t *testing.T) {
			y := newInstance(t, wakes, noApprove)
			y.define("coder", definition("tools: read", "approval: "+string(c.policy)))
			equal(t, "state", y.openRun(y.create(c.creator, "coder").ID).State(), c.want)
		})
	}
}

func TestConsent(t *testing.T) {
	y := newInstance(t, wakes)
	t.Run("a person who starts an agent's draft has consented to its runs", func(t *testing.T) {
		tk := y.create(planner, "coder", draft)
		must(y.patchStatus(tk.ID, "active"))
		equal(t, "state", y.openRun(tk.ID).State(), queued)
		y.finish(y.start(), completed("ok"))
		equal(t, "state of the next", must(y.s.RunNow(y.ctx(), planner, tk.ID)).State(), queued)
	})
	t.Run("an agent that starts its own draft has not", func(t *testing.T) {
		tk := y.create(planner, "coder", draft)
		must(y.s.UpdateTask(y.ctx(), planner, tk.ID, task.Patch{Status: ptr("active")}))
		equal(t, "state", y.openRun(tk.ID).State(), waiting)
	})
	t.Run("an agent that starts a person's draft gives no consent in their stead", func(t *testing.T) {
		y := newInstance(t, wakes)
		tk := y.create(maya, "coder", draft)
		must(y.s.UpdateTask(y.ctx(), coder, tk.ID, task.Patch{Status: ptr("active")}))
		r := y.openRun(tk.ID)
		equal(t, "state", r.State(), waiting)
		y.approve(r.ID, task.ScopeOnce)
		y.finish(y.start(), completed("ok"))
		equal(t, "state of the next", must(y.s.RunNow(y.ctx(), coder, tk.ID)).State(), waiting)
	})
}

func TestOnlyWhatWasApprovedRuns(t *testing.T) {
	y := newInstance(t)
	approved := func(t *testing.T) (*task.Task, *task.Run) {
		t.Helper()
		tk, r := y.waits()
		return tk, y.approve(r.ID, task.ScopeOnce)
	}
	voided := func(t *testing.T, r *task.Run) {
		t.Helper()
		y.nothingStarts()
		now := y.run(r.ID)
		equal(t, "state", now.State(), waiting)
		equal(t, "decision", now.Approval.Decision, "")
		equal(t, "event", last(y.kinds(r.TaskID)), task.EvRunVoided)
		y.approve(r.ID, task.ScopeOnce)
		y.finish(y.start(), completed("ok"))
	}
	t.Run("an approved run starts with the frozen words", func(t *testing.T) {
		_, r := approved(t)
		st := y.start()
		equal(t, "run", st.Run.ID, r.ID)
		equal(t, "prompt", st.Spec.Prompt, r.Spec.Prompt)
		equal(t, "version", specHash(*r.Spec), r.Approval.Version)
		equal(t, "by", st.Run.Approval.By, rita.Name)
		y.finish(st, completed("ok"))
	})
	t.Run("a changed definition voids the approval", func(t *testing.T) {
		_, r := approved(t)
		y.define("coder", definition("tools: read, edit, bash", "runner: script"))
		voided(t, r)
	})
	t.Run("a changed title voids the approval", func(t *testing.T) {
		tk, r := approved(t)
		must(y.s.UpdateTask(y.ctx(), planner, tk.ID, task.Patch{Title: ptr("Delete it all")}))
		voided(t, r)
	})
	t.Run("a comment between approval and start voids it", func(t *testing.T) {
		tk, r := approved(t)
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "ignore the rest"))
		voided(t, r)
	})
	t.Run("what changed before the approval is shown again first", func(t *testing.T) {
		tk, r := y.waits()
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "one more thing"))
		_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{})
		e := refused(t, err, task.CodeRunChanged)
		now := y.run(r.ID)
		equal(t, "version", e.Version, now.Approval.Version)
		equal(t, "version of what it shows", specHash(*now.Spec), e.Version)
		_, err = y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Version: r.Approval.Version})
		refused(t, err, task.CodeRunChanged)
		must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Version: e.Version}))
		y.finish(y.start(), completed("ok"))
	})
	t.Run("a refused approval is not replayed as a success", func(t *testing.T) {
		tk, r := y.waits()
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "one more thing"))
		for range 2 {
			ctx := WithIdempotency(y.ctx(), &Idempotency{Caller: rita.Name, Key: "k", Request: []byte("r")})
			got, err := y.s.ApproveRun(ctx, rita, r.ID, Approve{Version: r.Approval.Version})
			if err == nil {
				t.Fatalf("answered with run %d as %s", got.ID, got.State())
			}
			refused(t, err, task.CodeRunChanged)
		}
		equal(t, "state", y.run(r.ID).State(), waiting)
	})
}

func TestAnApprovalForTheTask(t *testing.T) {
	y := newInstance(t)
	tk, r := y.waits()
	y.approve(r.ID, task.ScopeTask)
	next := func(t *testing.T) *task.Run {
		t.Helper()
		y.finish(y.start(), completed("some of it"))
		return must(y.s.RunNow(y.ctx(), planner, tk.ID))
	}
	t.Run("reaches its later runs, whatever was said meanwhile", func(t *testing.T) {
		must(y.s.Comment(y.ctx(), coder, tk.ID, "fine so far"))
		r := next(t)
		equal(t, "state", r.State(), queued)
		equal(t, "by", r.Approval.By, rita.Name)
	})
	t.Run("but none in which a stranger who can do less has a say", func(t *testing.T) {
		y.finish(y.start(), completed("more"))
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, "now delete it all"))
		r := must(y.s.RunNow(y.ctx(), maya, tk.ID))
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.Why, "comment by reviewer, who lacks edit")
		y.approve(r.ID, task.ScopeTask)
		equal(t, "state of the next", next(t).State(), queued)
	})
	t.Run("but not after the title changed", func(t *testing.T) {
		y.finish(y.start(), completed("more"))
		must(y.s.UpdateTask(y.ctx(), planner, tk.ID, task.Patch{Title: ptr("Another thing")}))
		r := must(y.s.RunNow(y.ctx(), planner, tk.ID))
		equal(t, "state", r.State(), waiting)
		y.approve(r.ID, task.ScopeTask)
	})
	t.Run("and not after the definition changed", func(t *testing.T) {
		equal(t, "state before", next(t).State(), queued)
		y.finish(y.start(), completed("more"))
		y.define("coder", definition("tools: read, bash", "runner: script"))
		equal(t, "state after", must(y.s.RunNow(y.ctx(), planner, tk.ID)).State(), waiting)
	})
}

func TestLimitsAreOnlyTightened(t *testing.T) {
	y := newInstance(t)
	y.define("coder", definition("tools: read", "runner: script", "max_tokens: 1000", "timeout: 100s"))
	tk, r := y.waits()
	equal(t, "timeout", r.Limits.TimeoutSeconds, 100)
	for name, l := range map[string]task.Limits{
		"limits.timeoutSeconds": {TimeoutSeconds: 101},
		"limits.maxTokens":      {MaxTokens: 1001},
		"limits.maxTurns":       {MaxTurns: -1},
		"limits.maxCostUsd":     {MaxCostUSD: -1},
	} {
		_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Limits: l})
		refused(t, err, task.CodeInvalidField, name)
	}
	_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Scope: "ever"})
	refused(t, err, task.CodeInvalidField, "scope", "once or task")
	tight := task.Limits{TimeoutSeconds: 50, MaxTokens: 500, MaxTurns: 3}
	must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Scope: task.ScopeTask, Limits: tight}))
	st := y.start()
	equal(t, "limits of the run", st.Run.Limits, task.Limits{TimeoutSeconds: 50, IdleTimeoutSeconds: 120, MaxTokens: 500, MaxTurns: 3})
	equal(t, "limits of its spec", st.Spec.Limits, st.Run.Limits)
	y.finish(st, completed("ok"))
	next := must(y.s.RunNow(y.ctx(), planner, tk.ID))
	equal(t, "limits of the next run", next.Limits.MaxTokens, 500)
	equal(t, "limits as started", y.start().Run.Limits, st.Run.Limits)
}

func TestDecisions(t *testing.T) {
	y := newInstance(t, wakes)
	p := y.create(maya, "planner", noStart, steps("a"))
	t.Run("a denial is told to the thread and to the owner above", func(t *testing.T) {
		sub := y.subtask(planner, p.ID, 0, "coder")
		r := must(y.s.DenyRun(y.ctx(), rita, y.openRun(sub.ID).ID, " too risky ", 0))
		equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseDenied})
		equal(t, "reason", r.Approval.Reason, "too risky")
		c := last(y.task(sub.ID).Comments)
		equal(t, "comment", c.Content, "Run "+r.ID.String()+" was denied: too risky")
		equal(t, "author", c.Author, rita.Name)
		y.woken(t, p.ID, "planner")
	})
	t.Run("a denial needs a reason", func(t *testing.T) {
		_, r := y.waits()
		_, err := y.s.DenyRun(y.ctx(), rita, r.ID, " ", 0)
		refused(t, err, task.CodeInvalidField, "reason")
	})
	t.Run("nobody decides twice", func(t *testing.T) {
		_, r := y.waits()
		y.approve(r.ID, task.ScopeOnce)
		_, err := y.s.ApproveRun(y.ctx(), maya, r.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "approved", rita.Name)
		_, err = y.s.DenyRun(y.ctx(), maya, r.ID, "no", 0)
		refused(t, err, task.CodeRunDecided, "approved", rita.Name)
		_, d := y.waits()
		must(y.s.DenyRun(y.ctx(), rita, d.ID, "no", 0))
		_, err = y.s.ApproveRun(y.ctx(), maya, d.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "denied", rita.Name, "no")
	})
	t.Run("nobody decides on a canceled run", func(t *testing.T) {
		tk, r := y.waits()
		must(y.s.CancelTask(y.ctx(), maya, tk.ID, ""))
		_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{})
		refused(t, err, task.CodeRunEnded, "canceled: task closed")
		_, err = y.s.DenyRun(y.ctx(), rita, r.ID, "no", 0)
		refused(t, err, task.CodeRunEnded)
	})
	t.Run("no agent and no operator decides", func(t *testing.T) {
		_, r := y.waits()
		for _, a := range []task.Actor{coder, planner, oleg, vera, {}} {
			code := task.CodeForbidden
			if a.Role == task.RoleNone {
				code = task.CodeUnauthorized
			}
			_, err := y.s.ApproveRun(y.ctx(), a, r.ID, Approve{})
			refused(t, err, code)
			_, err = y.s.DenyRun(y.ctx(), a, r.ID, "no", 0)
			refused(t, err, code)
		}
		equal(t, "state", y.run(r.ID).State(), waiting)
	})
	t.Run("an unknown run is not found", func(t *testing.T) {
		_, err := y.s.ApproveRun(y.ctx(), rita, 99999, Approve{})
		refused(t, err, task.CodeRunNotFound)
	})
}

func TestApprovalsExpire(t *testing.T) {
	y := newInstance(t)
	tk, r := y.waits()
	equal(t, "expiry", r.Approval.ExpiresAt, y.s.Now().Add(24*time.Hour))
	y.Forward(24*time.Hour - time.Millisecond)
	equal(t, "expired early", must(y.s.ExpireApprovals(y.ctx())), 0)
	y.Forward(time.Millisecond)
	equal(t, "expired", must(y.s.ExpireApprovals(y.ctx())), 1)
	equal(t, "expired twice", must(y.s.ExpireApprovals(y.ctx())), 0)
	equal(t, "state", y.run(r.ID).State(), task.State{Status: task.RunCanceled, Phase: task.PhaseExpired})
	_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{})
	refused(t, err, task.CodeRunDecided, "expired")
	equal(t, "author of the notice", last(y.task(tk.ID).Comments).Author, task.System)
	equal(t, "waiting for", y.task(tk.ID).WaitingFor, task.WaitingFor(""))
}

func TestAnExpiredApprovalIsTooLateEvenBeforeTheRound(t *testing.T) {
	y := newInstance(t)
	_, r := y.waits()
	y.Forward(24 * time.Hour)
	_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{})
	refused(t, err, task.CodeRunDecided, "expired")
}
