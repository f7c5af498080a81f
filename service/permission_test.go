package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// requestPermission makes a started run request permission for a tool call.
func (inst *instance) requestPermission(st *Start, tool string) *task.Permission {
	inst.t.Helper()
	return must(inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease,
		task.Permission{Tool: tool, Input: json.RawMessage(`{"command":"ls"}`), Reason: "to look"}))
}

// startNewRun starts a run of a new task of an agent.
func (inst *instance) startNewRun(agent string) *Start {
	inst.t.Helper()
	tk := inst.create(maya, agent, noStart)
	return inst.runTask(tk.ID)
}

func TestARunContinuesAfterAPersonDecides(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	p := inst.requestPermission(st, "bash")
	t.Run("it waits, and everyone sees the request", func(t *testing.T) {
		r := inst.run(st.Run.ID)
		equal(t, "state", r.State().String(), "running/permission")
		equal(t, "input", string(r.Permission.Input), `{"command":"ls"}`)
		equal(t, "reason", r.Permission.Reason, "to look")
		equal(t, "task waits for", inst.task(r.TaskID).WaitingFor, task.WaitsApproval)
		b := inst.inbox()
		equal(t, "inbox", b.Totals.Permissions, 1)
		equal(t, "tool in the inbox", b.Permissions[0].Permission.Tool, "bash")
		equal(t, "asking", len(must(inst.s.Asking(inst.ctx(), vera))), 1)
		why := must(inst.s.Why(inst.ctx(), maya, r.TaskID))
		equal(t, "why", why[0].Code, task.WhyPermission)
	})
	t.Run("agents and operators cannot decide", func(t *testing.T) {
		for _, a := range []task.Actor{coder, inst.actor(st), oleg, vera} {
			_, err := inst.s.AllowPermission(inst.ctx(), a, p.Run, p.N, "")
			refused(t, err, task.CodeForbidden)
			_, err = inst.s.DenyPermission(inst.ctx(), a, p.Run, p.N, "no")
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("a run has one request at a time", func(t *testing.T) {
		_, err := inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease, task.Permission{Tool: "edit"})
		refused(t, err, task.CodeRunOpen)
	})
	t.Run("an unknown scope and an unknown number are refused", func(t *testing.T) {
		_, err := inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, task.ScopeTask)
		refused(t, err, task.CodeInvalidField, "scope")
		_, err = inst.s.AllowPermission(inst.ctx(), rita, p.Run, 9, "")
		refused(t, err, task.CodeNotFound)
		_, err = inst.s.AllowPermission(inst.ctx(), rita, 99, 1, "")
		refused(t, err, task.CodeRunNotFound)
	})
	t.Run("once allowed it continues, and the wait does not count as its time", func(t *testing.T) {
		inst.Forward(10 * time.Minute)
		r := must(inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, ""))
		equal(t, "state", r.State().String(), "running/working")
		equal(t, "decision", r.Permission.Decision, task.PermissionAllowed)
		inst.Forward(time.Minute)
		r = inst.run(p.Run)
		equal(t, "worked", r.WorkTime(task.TimeFromStd(inst.Now())), time.Minute)
		equal(t, "inbox", inst.inbox().Totals.Permissions, 0)
	})
	t.Run("a second decision gets the outcome", func(t *testing.T) {
		_, err := inst.s.DenyPermission(inst.ctx(), rita, p.Run, p.N, "no")
		refused(t, err, task.CodeRunDecided, "already allowed by rita")
	})
	t.Run("the next call is requested again", func(t *testing.T) {
		equal(t, "waits", inst.requestPermission(st, "bash").IsPending(), true)
	})
	inst.checkChain()
}

func TestAPermissionForTheRunAnswersLaterCallsOfThatTool(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	p := inst.requestPermission(st, "bash")
	must(inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, task.ScopeRun))
	equal(t, "bash waits", inst.requestPermission(st, "bash").IsPending(), false)
	equal(t, "state", inst.run(p.Run).State().String(), "running/working")
	equal(t, "edit waits", inst.requestPermission(st, "edit").IsPending(), true)
	must(inst.s.DenyPermission(inst.ctx(), rita, p.Run, 2, "no edits"))
	inst.finish(st, completed("done"))
	next := inst.startNewRun("coder")
	equal(t, "another run waits", inst.requestPermission(next, "bash").IsPending(), true)
}

func TestADenialRequiresAReasonAndTheRunContinues(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	p := inst.requestPermission(st, "bash")
	_, err := inst.s.DenyPermission(inst.ctx(), rita, p.Run, p.N, " ")
	refused(t, err, task.CodeInvalidField, "reason")
	r := must(inst.s.DenyPermission(inst.ctx(), rita, p.Run, p.N, "use read"))
	equal(t, "state", r.State().String(), "running/working")
	equal(t, "message", r.Permission.Message, "use read")
	_, err = inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, "")
	refused(t, err, task.CodeRunDecided, "already denied by rita", "use read")
}

func TestAPermissionExpires(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.ApprovalExpires = time.Hour })
	st := inst.startNewRun("coder")
	p := inst.requestPermission(st, "bash")
	inst.Forward(59 * time.Minute)
	equal(t, "expired early", must(inst.s.ExpireApprovals(inst.ctx())), 0)
	inst.Forward(time.Minute)
	_, err := inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, "")
	refused(t, err, task.CodeRunDecided, "expired")
	ok(t, inst.s.RunHeartbeat(inst.ctx(), st.Run.ID, st.Run.Lease))
	equal(t, "expired", must(inst.s.ExpireApprovals(inst.ctx())), 1)
	got := must(inst.s.AwaitPermission(inst.ctx(), p.Run, p.N))
	equal(t, "decision", got.Decision, task.PermissionExpired)
	equal(t, "state", inst.run(p.Run).State().String(), "running/working")
}

func TestTheEndOfARunVoidsItsPermissionRequest(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*instance, *Start) error{
		"canceled by a person": func(inst *instance, st *Start) error {
			_, err := inst.s.CancelRun(inst.ctx(), maya, st.Run.ID, "")
			return err
		},
		"ended by itself": func(inst *instance, st *Start) error {
			return inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, completed("done"))
		},
		"failed meanwhile": func(inst *instance, st *Start) error {
			return inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, failure(task.PhaseCrash))
		},
		"cut by a server stop": func(inst *instance, st *Start) error { return inst.s.RequeueRun(inst.ctx(), st.Run.ID, st.Run.Lease) },
		"failed for a refusal": func(inst *instance, st *Start) error {
			return inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, failure(task.PhasePermission))
		},
		"everything is stopped": func(inst *instance, _ *Start) error {
			_, err := inst.s.StopEverything(inst.ctx(), maya, "halt")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inst := newInstance(t)
			st := inst.startNewRun("coder")
			p := inst.requestPermission(st, "bash")
			ok(t, end(inst, st))
			got := must(inst.s.AwaitPermission(inst.ctx(), p.Run, p.N))
			equal(t, "decision", got.Decision, task.PermissionVoid)
			equal(t, "inbox", inst.inbox().Totals.Permissions, 0)
			_, err := inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, "")
			refused(t, err, task.CodeRunDecided, "void")
		})
	}
}

func TestAWaitForAPermissionEndsWithTheDecision(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	p := inst.requestPermission(inst.startNewRun("coder"), "bash")
	t.Run("when it is decided", func(t *testing.T) {
		got := make(chan string)
		go func() {
			p, err := inst.s.AwaitPermission(inst.ctx(), p.Run, p.N)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- p.Decision
		}()
		must(inst.s.AllowPermission(inst.ctx(), rita, p.Run, p.N, ""))
		equal(t, "decision", <-got, task.PermissionAllowed)
	})
	t.Run("not if it gives up", func(t *testing.T) {
		st := inst.startNewRun("reviewer")
		q := inst.requestPermission(st, "bash")
		ctx, cancel := context.WithCancelCause(inst.ctx())
		cause := errors.New("enough")
		cancel(cause)
		if _, err := inst.s.AwaitPermission(ctx, q.Run, q.N); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestAPermissionRequestMustBeShownCompletely(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	st := inst.startNewRun("coder")
	for name, p := range map[string]task.Permission{
		"no tool":                     {},
		"a long tool name":            {Tool: string(make([]byte, task.MaxPermissionTool+1))},
		"invalid JSON arguments":      {Tool: "bash", Input: json.RawMessage(`{`)},
		"a reason with invalid UTF-8": {Tool: "bash", Reason: "\xff"},
		"large arguments":             {Tool: "bash", Input: json.RawMessage(`"` + strings.Repeat("a", task.MaxPermissionInput) + `"`)},
		"markup arguments":            {Tool: "bash", Input: json.RawMessage(`"` + strings.Repeat("<", task.MaxPermissionInput/6+1) + `"`)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease, p)
			refused(t, err, task.CodeInvalidField)
		})
	}
	_, err := inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease+1, task.Permission{Tool: "bash"})
	refused(t, err, task.CodeStaleLease)
}
