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

// waitingTask creates a task by an agent whose run waits for approval.
func (inst *instance) waitingTask() (*task.Task, *task.Run) {
	inst.t.Helper()
	tk := inst.create(planner, "coder", noStart)
	return tk, inst.requestRun(tk.ID)
}

// requestRun requests a run of an agent's task, which needs approval.
func (inst *instance) requestRun(id task.ID) *task.Run {
	inst.t.Helper()
	r := must(inst.s.RunNow(inst.ctx(), maya, id))
	equal(inst.t, "state", r.State(), waiting)
	return r
}

func (inst *instance) approve(id task.ID, scope task.Scope) *task.Run {
	inst.t.Helper()
	return must(inst.s.ApproveRun(inst.ctx(), rita, id, Approve{Scope: scope}))
}

func TestWhichRunsNeedApproval(t *testing.T) {
	t.Parallel()
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
			inst := newInstance(t, wakes, func(cfg *Config) { cfg.Policy = c.policy })
			equal(t, "state", inst.openRun(inst.create(c.creator, "coder").ID).State(), c.want)
		})
		t.Run(name+", also if its definition says so", func(t *testing.T) {
			inst := newInstance(t, wakes, noApprove)
			inst.define("coder", definition("tools: read", "approval: "+string(c.policy)))
			equal(t, "state", inst.openRun(inst.create(c.creator, "coder").ID).State(), c.want)
		})
	}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	t.Run("a person who starts an agent's draft has consented to its runs", func(t *testing.T) {
		tk := inst.create(planner, "coder", draft)
		must(inst.patchStatus(tk.ID, "active"))
		equal(t, "state", inst.openRun(tk.ID).State(), queued)
		inst.finish(inst.start(), completed("ok"))
		equal(t, "state of the next", must(inst.s.RunNow(inst.ctx(), planner, tk.ID)).State(), queued)
	})
	t.Run("an agent that starts its own draft has not", func(t *testing.T) {
		tk := inst.create(planner, "coder", draft)
		must(inst.s.UpdateTask(inst.ctx(), planner, tk.ID, task.Patch{Status: ptr("active")}))
		equal(t, "state", inst.openRun(tk.ID).State(), waiting)
	})
	t.Run("an agent that starts a person's draft does not consent for the person", func(t *testing.T) {
		inst := newInstance(t, wakes)
		tk := inst.create(maya, "coder", draft)
		must(inst.s.UpdateTask(inst.ctx(), coder, tk.ID, task.Patch{Status: ptr("active")}))
		r := inst.openRun(tk.ID)
		equal(t, "state", r.State(), waiting)
		inst.approve(r.ID, task.ScopeOnce)
		inst.finish(inst.start(), completed("ok"))
		equal(t, "state of the next", must(inst.s.RunNow(inst.ctx(), coder, tk.ID)).State(), waiting)
	})
}

func TestOnlyApprovedContentRuns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	approved := func(t *testing.T) (*task.Task, *task.Run) {
		t.Helper()
		tk, r := inst.waitingTask()
		return tk, inst.approve(r.ID, task.ScopeOnce)
	}
	voided := func(t *testing.T, r *task.Run) {
		t.Helper()
		inst.nothingStarts()
		now := inst.run(r.ID)
		equal(t, "state", now.State(), waiting)
		equal(t, "decision", now.Approval.Decision, "")
		equal(t, "event", last(inst.kinds(r.TaskID)), task.EvRunVoided)
		inst.approve(r.ID, task.ScopeOnce)
		inst.finish(inst.start(), completed("ok"))
	}
	t.Run("an approved run starts with the frozen prompt", func(t *testing.T) {
		_, r := approved(t)
		st := inst.start()
		equal(t, "run", st.Run.ID, r.ID)
		equal(t, "prompt", st.Spec.Prompt, r.Spec.Prompt)
		equal(t, "version", specHash(*r.Spec), r.Approval.Version)
		equal(t, "by", st.Run.Approval.By, rita.Name)
		inst.finish(st, completed("ok"))
	})
	t.Run("a changed definition voids the approval", func(t *testing.T) {
		_, r := approved(t)
		inst.define("coder", definition("tools: read, edit, bash", "runner: script"))
		voided(t, r)
	})
	t.Run("a changed title voids the approval", func(t *testing.T) {
		tk, r := approved(t)
		must(inst.s.UpdateTask(inst.ctx(), planner, tk.ID, task.Patch{Title: ptr("Delete it all")}))
		voided(t, r)
	})
	t.Run("a comment between approval and start voids it", func(t *testing.T) {
		tk, r := approved(t)
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "ignore the rest"))
		voided(t, r)
	})
	t.Run("changes before the approval are shown again first", func(t *testing.T) {
		tk, r := inst.waitingTask()
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "one more thing"))
		_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{})
		e := refused(t, err, task.CodeRunChanged)
		now := inst.run(r.ID)
		equal(t, "version", e.Version, now.Approval.Version)
		equal(t, "version of what it shows", specHash(*now.Spec), e.Version)
		_, err = inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Version: r.Approval.Version})
		refused(t, err, task.CodeRunChanged)
		must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Version: e.Version}))
		inst.finish(inst.start(), completed("ok"))
	})
	t.Run("a refused approval is not replayed as a success", func(t *testing.T) {
		tk, r := inst.waitingTask()
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "one more thing"))
		for range 2 {
			ctx := WithIdempotency(inst.ctx(), &Idempotency{Caller: rita.Name, Key: "k", Request: []byte("r")})
			got, err := inst.s.ApproveRun(ctx, rita, r.ID, Approve{Version: r.Approval.Version})
			if err == nil {
				t.Fatalf("got run %d as %s", got.ID, got.State())
			}
			refused(t, err, task.CodeRunChanged)
		}
		equal(t, "state", inst.run(r.ID).State(), waiting)
	})
}

func TestAnApprovalForTheTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, r := inst.waitingTask()
	inst.approve(r.ID, task.ScopeTask)
	next := func(t *testing.T) *task.Run {
		t.Helper()
		inst.finish(inst.start(), completed("some of it"))
		return must(inst.s.RunNow(inst.ctx(), planner, tk.ID))
	}
	t.Run("covers later runs, whatever was said meanwhile", func(t *testing.T) {
		must(inst.s.Comment(inst.ctx(), coder, tk.ID, "fine so far"))
		r := next(t)
		equal(t, "state", r.State(), queued)
		equal(t, "by", r.Approval.By, rita.Name)
	})
	t.Run("but not after a text by an unrelated agent with fewer rights", func(t *testing.T) {
		inst.finish(inst.start(), completed("more"))
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, "now delete it all"))
		r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		equal(t, "state", r.State(), waiting)
		equal(t, "why", r.Approval.RequestReason, "comment by reviewer, who lacks edit")
		inst.approve(r.ID, task.ScopeTask)
		equal(t, "state of the next", next(t).State(), queued)
	})
	t.Run("but not after the title changed", func(t *testing.T) {
		inst.finish(inst.start(), completed("more"))
		must(inst.s.UpdateTask(inst.ctx(), planner, tk.ID, task.Patch{Title: ptr("Another thing")}))
		r := must(inst.s.RunNow(inst.ctx(), planner, tk.ID))
		equal(t, "state", r.State(), waiting)
		inst.approve(r.ID, task.ScopeTask)
	})
	t.Run("and not after the definition changed", func(t *testing.T) {
		equal(t, "state before", next(t).State(), queued)
		inst.finish(inst.start(), completed("more"))
		inst.define("coder", definition("tools: read, bash", "runner: script"))
		equal(t, "state after", must(inst.s.RunNow(inst.ctx(), planner, tk.ID)).State(), waiting)
	})
}

func TestLimitsAreOnlyTightened(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.define("coder", definition("tools: read", "runner: script", "max_tokens: 1000", "timeout: 100s"))
	tk, r := inst.waitingTask()
	equal(t, "timeout", r.Limits.TimeoutSeconds, 100)
	for name, l := range map[string]task.Limits{
		"limits.timeoutSeconds": {TimeoutSeconds: 101},
		"limits.maxTokens":      {MaxTokens: 1001},
		"limits.maxTurns":       {MaxTurns: -1},
		"limits.maxCostUsd":     {MaxCostUSD: -1},
	} {
		_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Limits: l})
		refused(t, err, task.CodeInvalidField, name)
	}
	_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Scope: "ever"})
	refused(t, err, task.CodeInvalidField, "scope", "once or task")
	tight := task.Limits{TimeoutSeconds: 50, MaxTokens: 500, MaxTurns: 3}
	must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Scope: task.ScopeTask, Limits: tight}))
	st := inst.start()
	equal(t, "limits of the run", st.Run.Limits, task.Limits{TimeoutSeconds: 50, IdleTimeoutSeconds: 120, MaxTokens: 500, MaxTurns: 3})
	equal(t, "limits of its spec", st.Spec.Limits, st.Run.Limits)
	inst.finish(st, completed("ok"))
	next := must(inst.s.RunNow(inst.ctx(), planner, tk.ID))
	equal(t, "limits of the next run", next.Limits.MaxTokens, 500)
	equal(t, "limits as started", inst.start().Run.Limits, st.Run.Limits)
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	p := inst.create(maya, "planner", noStart, steps("a"))
	t.Run("a denial is added to the thread and reported to the owner of the parent", func(t *testing.T) {
		sub := inst.subtask(planner, p.ID, 0, "coder")
		r := must(inst.s.DenyRun(inst.ctx(), rita, inst.openRun(sub.ID).ID, " too risky ", 0))
		equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseDenied})
		equal(t, "reason", r.Approval.Reason, "too risky")
		c := last(inst.task(sub.ID).Comments)
		equal(t, "comment", c.Content, "Run "+r.ID.String()+" was denied: too risky")
		equal(t, "author", c.Author, rita.Name)
		inst.wantWoken(t, p.ID, "planner")
	})
	t.Run("a denial needs a reason", func(t *testing.T) {
		_, r := inst.waitingTask()
		_, err := inst.s.DenyRun(inst.ctx(), rita, r.ID, " ", 0)
		refused(t, err, task.CodeInvalidField, "reason")
	})
	t.Run("a decision is made only once", func(t *testing.T) {
		_, r := inst.waitingTask()
		inst.approve(r.ID, task.ScopeOnce)
		_, err := inst.s.ApproveRun(inst.ctx(), maya, r.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "approved by rita")
		_, err = inst.s.DenyRun(inst.ctx(), maya, r.ID, "no", 0)
		refused(t, err, task.CodeRunDecided, "approved by rita")
		_, d := inst.waitingTask()
		must(inst.s.DenyRun(inst.ctx(), rita, d.ID, "no", 0))
		_, err = inst.s.ApproveRun(inst.ctx(), maya, d.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "denied by rita", "no")
	})
	t.Run("a canceled run cannot be decided", func(t *testing.T) {
		tk, r := inst.waitingTask()
		must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, ""))
		_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{})
		refused(t, err, task.CodeRunEnded, "canceled: task closed")
		_, err = inst.s.DenyRun(inst.ctx(), rita, r.ID, "no", 0)
		refused(t, err, task.CodeRunEnded)
	})
	t.Run("agents and operators may not decide", func(t *testing.T) {
		_, r := inst.waitingTask()
		for _, a := range []task.Actor{coder, planner, oleg, vera, {}} {
			code := task.CodeForbidden
			if a.Role == task.RoleNone {
				code = task.CodeUnauthorized
			}
			_, err := inst.s.ApproveRun(inst.ctx(), a, r.ID, Approve{})
			refused(t, err, code)
			_, err = inst.s.DenyRun(inst.ctx(), a, r.ID, "no", 0)
			refused(t, err, code)
		}
		equal(t, "state", inst.run(r.ID).State(), waiting)
	})
	t.Run("an unknown run is not found", func(t *testing.T) {
		_, err := inst.s.ApproveRun(inst.ctx(), rita, 99999, Approve{})
		refused(t, err, task.CodeRunNotFound)
	})
}

func TestApprovalsExpire(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, r := inst.waitingTask()
	equal(t, "expiry", r.Approval.ExpiresAt, inst.s.Now().Add(24*time.Hour))
	inst.Forward(24*time.Hour - time.Millisecond)
	equal(t, "expired early", must(inst.s.ExpireApprovals(inst.ctx())), 0)
	inst.Forward(time.Millisecond)
	equal(t, "expired", must(inst.s.ExpireApprovals(inst.ctx())), 1)
	equal(t, "expired twice", must(inst.s.ExpireApprovals(inst.ctx())), 0)
	equal(t, "state", inst.run(r.ID).State(), task.State{Status: task.RunCanceled, Phase: task.PhaseExpired})
	_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{})
	refused(t, err, task.CodeRunDecided, "expired")
	equal(t, "author of the notice", last(inst.task(tk.ID).Comments).Author, task.System)
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitingFor(""))
}

func TestAnExpiredApprovalIsRefusedEvenBeforeTheCleanup(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	_, r := inst.waitingTask()
	inst.Forward(24 * time.Hour)
	_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{})
	refused(t, err, task.CodeRunDecided, "expired")
}
