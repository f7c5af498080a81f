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

// asks has a started run ask for a call of a tool.
func (y *instance) asks(st *Start, tool string) *task.Permission {
	y.t.Helper()
	return must(y.s.AskPermission(y.ctx(), st.Run.ID, st.Run.Lease,
		task.Permission{Tool: tool, Input: json.RawMessage(`{"command":"ls"}`), Reason: "to look"}))
}

// atWork starts the run of a new task of an agent.
func (y *instance) atWork(agent string) *Start {
	y.t.Helper()
	tk := y.create(maya, agent, noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	return y.start()
}

func TestARunAsksAndGoesOnWhenAPersonDecides(t *testing.T) {
	y := newInstance(t)
	st := y.atWork("coder")
	p := y.asks(st, "bash")
	t.Run("it waits, and everybody sees what for", func(t *testing.T) {
		r := y.run(st.Run.ID)
		equal(t, "state", r.State().String(), "running/permission")
		equal(t, "input", string(r.Permission.Input), `{"command":"ls"}`)
		equal(t, "reason", r.Permission.Reason, "to look")
		equal(t, "task waits for", y.task(r.TaskID).WaitingFor, task.WaitsApproval)
		b := y.inbox()
		equal(t, "inbox", b.Totals.Permissions, 1)
		equal(t, "tool in the inbox", b.Permissions[0].Permission.Tool, "bash")
		equal(t, "asking", len(must(y.s.Asking(y.ctx(), vera))), 1)
		why := must(y.s.Why(y.ctx(), maya, r.TaskID))
		equal(t, "why", why[0].Code, task.WhyPermission)
	})
	t.Run("neither an agent nor an operator decides", func(t *testing.T) {
		for _, a := range []task.Actor{coder, y.actor(st), oleg, vera} {
			_, err := y.s.AllowPermission(y.ctx(), a, p.Run, p.N, "")
			refused(t, err, task.CodeForbidden)
			_, err = y.s.DenyPermission(y.ctx(), a, p.Run, p.N, "no")
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("it asks one thing at a time", func(t *testing.T) {
		_, err := y.s.AskPermission(y.ctx(), st.Run.ID, st.Run.Lease, task.Permission{Tool: "edit"})
		refused(t, err, task.CodeRunOpen)
	})
	t.Run("an unknown scope and an unknown number are refused", func(t *testing.T) {
		_, err := y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, task.ScopeTask)
		refused(t, err, task.CodeInvalidField, "scope")
		_, err = y.s.AllowPermission(y.ctx(), rita, p.Run, 9, "")
		refused(t, err, task.CodeNotFound)
		_, err = y.s.AllowPermission(y.ctx(), rita, 99, 1, "")
		refused(t, err, task.CodeRunNotFound)
	})
	t.Run("allowed, it works on, and the wait counts as none of its time", func(t *testing.T) {
		y.Forward(10 * time.Minute)
		r := must(y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, ""))
		equal(t, "state", r.State().String(), "running/working")
		equal(t, "decision", r.Permission.Decision, task.PermissionAllowed)
		y.Forward(time.Minute)
		r = y.run(p.Run)
		equal(t, "worked", r.Worked(task.TimeFromStd(y.Now())), time.Minute)
		equal(t, "inbox", y.inbox().Totals.Permissions, 0)
	})
	t.Run("a second decision gets the outcome", func(t *testing.T) {
		_, err := y.s.DenyPermission(y.ctx(), rita, p.Run, p.N, "no")
		refused(t, err, task.CodeRunDecided, "already allowed by user:rita")
	})
	t.Run("the next call is asked for again", func(t *testing.T) {
		equal(t, "waits", y.asks(st, "bash").Waits(), true)
	})
	y.chain()
}

func TestAPermissionForTheRunAnswersLaterCallsOfThatTool(t *testing.T) {
	y := newInstance(t)
	st := y.atWork("coder")
	p := y.asks(st, "bash")
	must(y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, task.ScopeRun))
	equal(t, "bash waits", y.asks(st, "bash").Waits(), false)
	equal(t, "state", y.run(p.Run).State().String(), "running/working")
	equal(t, "edit waits", y.asks(st, "edit").Waits(), true)
	must(y.s.DenyPermission(y.ctx(), rita, p.Run, 2, "no edits"))
	y.finish(st, completed("done"))
	next := y.atWork("coder")
	equal(t, "another run waits", y.asks(next, "bash").Waits(), true)
}

func TestDenyingNeedsAReasonAndLetsTheRunGoOn(t *testing.T) {
	y := newInstance(t)
	st := y.atWork("coder")
	p := y.asks(st, "bash")
	_, err := y.s.DenyPermission(y.ctx(), rita, p.Run, p.N, " ")
	refused(t, err, task.CodeInvalidField, "reason")
	r := must(y.s.DenyPermission(y.ctx(), rita, p.Run, p.N, "use read"))
	equal(t, "state", r.State().String(), "running/working")
	equal(t, "message", r.Permission.Message, "use read")
	_, err = y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, "")
	refused(t, err, task.CodeRunDecided, "already denied by user:rita", "use read")
}

func TestAPermissionExpires(t *testing.T) {
	y := newInstance(t, func(c *Config) { c.ApprovalExpires = time.Hour })
	st := y.atWork("coder")
	p := y.asks(st, "bash")
	y.Forward(59 * time.Minute)
	equal(t, "expired early", must(y.s.ExpireApprovals(y.ctx())), 0)
	y.Forward(time.Minute)
	_, err := y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, "")
	refused(t, err, task.CodeRunDecided, "expired")
	ok(t, y.s.RunHeartbeat(y.ctx(), st.Run.ID, st.Run.Lease))
	equal(t, "expired", must(y.s.ExpireApprovals(y.ctx())), 1)
	got := must(y.s.AwaitPermission(y.ctx(), p.Run, p.N))
	equal(t, "decision", got.Decision, task.PermissionExpired)
	equal(t, "state", y.run(p.Run).State().String(), "running/working")
}

func TestTheEndOfARunVoidsWhatItAsked(t *testing.T) {
	for name, end := range map[string]func(*instance, *Start) error{
		"canceled by a person": func(y *instance, st *Start) error { _, err := y.s.CancelRun(y.ctx(), maya, st.Run.ID, ""); return err },
		"ended by itself": func(y *instance, st *Start) error {
			return y.s.FinishRun(y.ctx(), st.Run.ID, st.Run.Lease, completed("done"))
		},
		"failed meanwhile": func(y *instance, st *Start) error {
			return y.s.FinishRun(y.ctx(), st.Run.ID, st.Run.Lease, failure(task.PhaseCrash))
		},
		"cut by a server stop": func(y *instance, st *Start) error { return y.s.RequeueRun(y.ctx(), st.Run.ID, st.Run.Lease) },
		"failed for a refusal": func(y *instance, st *Start) error {
			return y.s.FinishRun(y.ctx(), st.Run.ID, st.Run.Lease, failure(task.PhasePermission))
		},
		"everything is stopped": func(y *instance, _ *Start) error { _, err := y.s.StopEverything(y.ctx(), maya, "halt"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			y := newInstance(t)
			st := y.atWork("coder")
			p := y.asks(st, "bash")
			ok(t, end(y, st))
			got := must(y.s.AwaitPermission(y.ctx(), p.Run, p.N))
			equal(t, "decision", got.Decision, task.PermissionVoid)
			equal(t, "inbox", y.inbox().Totals.Permissions, 0)
			_, err := y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, "")
			refused(t, err, task.CodeRunDecided, "void")
		})
	}
}

func TestWhoWaitsForAPermissionHearsOfIt(t *testing.T) {
	y := newInstance(t)
	p := y.asks(y.atWork("coder"), "bash")
	t.Run("when it is decided", func(t *testing.T) {
		got := make(chan string)
		go func() {
			p, err := y.s.AwaitPermission(y.ctx(), p.Run, p.N)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- p.Decision
		}()
		must(y.s.AllowPermission(y.ctx(), rita, p.Run, p.N, ""))
		equal(t, "decision", <-got, task.PermissionAllowed)
	})
	t.Run("not when it gives up", func(t *testing.T) {
		st := y.atWork("reviewer")
		q := y.asks(st, "bash")
		ctx, cancel := context.WithCancelCause(y.ctx())
		cause := errors.New("enough")
		cancel(cause)
		if _, err := y.s.AwaitPermission(ctx, q.Run, q.N); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
	})
}

func TestWhatCannotBeShownWholeIsNotAsked(t *testing.T) {
	y := newInstance(t)
	st := y.atWork("coder")
	for name, p := range map[string]task.Permission{
		"no tool":             {},
		"a tool too long":     {Tool: string(make([]byte, task.MaxPermissionTool+1))},
		"arguments not JSON":  {Tool: "bash", Input: json.RawMessage(`{`)},
		"a reason not UTF-8":  {Tool: "bash", Reason: "\xff"},
		"arguments too large": {Tool: "bash", Input: json.RawMessage(`"` + strings.Repeat("a", task.MaxPermissionInput) + `"`)},
		"arguments of markup": {Tool: "bash", Input: json.RawMessage(`"` + strings.Repeat("<", task.MaxPermissionInput/6+1) + `"`)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := y.s.AskPermission(y.ctx(), st.Run.ID, st.Run.Lease, p)
			refused(t, err, task.CodeInvalidField)
		})
	}
	_, err := y.s.AskPermission(y.ctx(), st.Run.ID, st.Run.Lease+1, task.Permission{Tool: "bash"})
	refused(t, err, task.CodeStaleLease)
}
