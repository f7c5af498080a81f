package service

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

const undo = task.UndoWindow

// held approves a waiting run so that it can be undone.
func (y *instance) held(id task.ID) *task.Run {
	y.t.Helper()
	return must(y.s.ApproveRun(y.ctx(), rita, id, Approve{Undo: undo}))
}

// later moves the clock and lets the dispatcher look.
func (y *instance) later(d time.Duration) *Start {
	y.t.Helper()
	y.Forward(d)
	st, _, err := y.s.NextRun(y.ctx(), nil)
	ok(y.t, err)
	return st
}

func TestADecisionIsHeldWhileItMayBeTakenBack(t *testing.T) {
	t.Run("an approved run starts when the time is over, not before", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		h := y.held(r.ID)
		equal(t, "state", h.State(), waiting)
		equal(t, "held", h.PendingDecision.Decision, "approved")
		st, later, err := y.s.NextRun(y.ctx(), nil)
		ok(t, err)
		equal(t, "started", st == nil, true)
		equal(t, "the dispatcher looks again", later, h.PendingDecision.Until)
		equal(t, "started a moment before", y.later(undo-time.Millisecond) == nil, true)
		st = y.later(time.Millisecond)
		equal(t, "started run", st.Run.ID, r.ID)
		equal(t, "approved by", st.Run.Approval.By, rita.Name)
		equal(t, "held", st.Run.PendingDecision == nil, true)
	})
	t.Run("it takes effect after a crash too, and no sooner", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		y.held(r.ID)
		y.s = y.service() // another process over the same database
		equal(t, "started", y.later(time.Second) == nil, true)
		equal(t, "started run", y.later(undo).Run.ID, r.ID)
	})
	t.Run("undone, it waits as before", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		y.held(r.ID)
		equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), rita))), 0)
		equal(t, "may be undone", must(y.s.PendingDecisions(y.ctx(), rita))[0].ID, r.ID)
		equal(t, "may be undone by another", len(must(y.s.PendingDecisions(y.ctx(), maya))), 0)
		d := must(y.s.UndoDecisions(y.ctx(), rita, []task.ID{r.ID}))
		equal(t, "undone", d.Done[0], r.ID)
		equal(t, "event", last(y.kinds(r.TaskID)), task.EvRunUndone)
		equal(t, "started", y.later(time.Hour) == nil, true)
		equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), rita))), 1)
		y.approve(r.ID, task.ScopeOnce)
		equal(t, "started run", y.start().Run.ID, r.ID)
	})
	t.Run("a rejection ends nothing before its time, and is then as any", func(t *testing.T) {
		y := newInstance(t)
		tk, r := y.waits()
		h := must(y.s.DenyRun(y.ctx(), rita, r.ID, " not so ", undo))
		equal(t, "state", h.State(), waiting)
		equal(t, "failures", y.task(tk.ID).Failures, 0)
		y.later(undo)
		now := y.run(r.ID)
		equal(t, "state", now.State().String(), "canceled/denied")
		equal(t, "by", now.Approval.By, rita.Name)
		equal(t, "reason", now.Approval.Reason, "not so")
		equal(t, "failures", y.task(tk.ID).Failures, 3)
	})
	t.Run("a scope that was undone leaves no grant", func(t *testing.T) {
		y := newInstance(t)
		tk, r := y.waits()
		must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Undo: undo, Scope: task.ScopeTask, Limits: task.Limits{MaxTurns: 3}}))
		must(y.s.UndoDecisions(y.ctx(), rita, []task.ID{r.ID}))
		y.approve(r.ID, task.ScopeOnce)
		st := y.start()
		equal(t, "turns", st.Run.Limits.MaxTurns, 0)
		y.finish(st, completed("ok"))
		equal(t, "state of the next", must(y.s.RunNow(y.ctx(), planner, tk.ID)).State(), waiting)
	})
	t.Run("what changed meanwhile is asked again, and what was is kept", func(t *testing.T) {
		y := newInstance(t)
		tk, r := y.waits()
		y.held(r.ID)
		must(y.s.UpdateTask(y.ctx(), planner, tk.ID, task.Patch{Title: ptr("Delete it all")}))
		equal(t, "started", y.later(undo) == nil, true)
		equal(t, "event", last(y.kinds(tk.ID)), task.EvRunVoided)
		equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), rita))), 1)
		before := must(y.s.SpecBefore(y.ctx(), rita, r.ID, r.Approval.Version))
		equal(t, "prompt before", before.Prompt, r.Spec.Prompt)
	})
	t.Run("an agent that is gone by then leaves the run waiting", func(t *testing.T) {
		y := newInstance(t)
		tk, r := y.waits()
		y.held(r.ID)
		y.define("coder", definition("tools: read", "runner: none"))
		equal(t, "started", y.later(undo) == nil, true)
		equal(t, "event", last(y.kinds(tk.ID)), task.EvRunUndone)
		equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), rita))), 1)
	})
	t.Run("a run that is canceled meanwhile stays canceled", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		y.held(r.ID)
		must(y.s.CancelRun(y.ctx(), oleg, r.ID, ""))
		equal(t, "started", y.later(undo) == nil, true)
		equal(t, "state", y.run(r.ID).State().String(), "canceled/by")
	})
}

func TestWhatIsHeldIsDecided(t *testing.T) {
	y := newInstance(t)
	_, r := y.waits()
	y.held(r.ID)
	one := []task.ID{r.ID}
	t.Run("nobody decides again", func(t *testing.T) {
		_, err := y.s.ApproveRun(y.ctx(), maya, r.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "already approved by user:rita")
		_, err = y.s.DenyRun(y.ctx(), maya, r.ID, "no", 0)
		refused(t, err, task.CodeRunDecided, "already approved by user:rita")
	})
	t.Run("who decided undoes it, and nobody else", func(t *testing.T) {
		for _, a := range []task.Actor{coder, oleg, maya} {
			_, err := y.s.UndoDecisions(y.ctx(), a, one)
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("it does not expire", func(t *testing.T) {
		y := newInstance(t, func(c *Config) { c.ApprovalExpires = undo / 2 })
		_, r := y.waits()
		y.held(r.ID)
		y.Forward(undo)
		equal(t, "expired", must(y.s.ExpireApprovals(y.ctx())), 0)
		equal(t, "started run", y.later(0).Run.ID, r.ID)
	})
	t.Run("too late is too late, before and after it took effect", func(t *testing.T) {
		y.Forward(undo)
		_, err := y.s.UndoDecisions(y.ctx(), rita, one)
		refused(t, err, task.CodeRunDecided, "could be undone until")
		y.later(0)
		_, err = y.s.UndoDecisions(y.ctx(), rita, one)
		refused(t, err, task.CodeRunDecided, "has taken effect")
	})
	t.Run("what is not decided cannot be undone", func(t *testing.T) {
		_, r := y.waits()
		_, err := y.s.UndoDecisions(y.ctx(), rita, []task.ID{r.ID})
		refused(t, err, task.CodeRunDecided, "waits for a reviewer")
		_, err = y.s.UndoDecisions(y.ctx(), rita, nil)
		refused(t, err, task.CodeInvalidField)
	})
	t.Run("a longer time than a minute is refused", func(t *testing.T) {
		for _, d := range []time.Duration{-1, task.MaxUndoWindow + 1} {
			_, err := y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{Undo: d})
			refused(t, err, task.CodeInvalidField, "0 to 60")
			_, err = y.s.DenyRun(y.ctx(), rita, r.ID, "no", d)
			refused(t, err, task.CodeInvalidField, "0 to 60")
		}
	})
}

func TestApproveMany(t *testing.T) {
	y := newInstance(t)
	reads := func() *task.Run { return y.ask(y.create(planner, "reviewer", noStart).ID) }
	a, b, gone, changed := reads(), reads(), reads(), reads()
	_, writes := y.waits()
	y.approve(gone.ID, task.ScopeOnce)
	must(y.s.UpdateTask(y.ctx(), planner, changed.TaskID, task.Patch{Title: ptr("Other")}))
	list := []Reviewed{
		{a.ID, a.Approval.Version},
		{gone.ID, gone.Approval.Version},
		{changed.ID, changed.Approval.Version},
		{writes.ID, writes.Approval.Version},
		{b.ID, ""},
		{b.ID, "old"},
		{99, "x"},
	}
	d := must(y.s.ApproveMany(y.ctx(), rita, list, undo))
	equal(t, "done", len(d.Done), 1)
	equal(t, "run", d.Done[0], a.ID)
	equal(t, "skipped", len(d.Skipped), 6)
	equal(t, "held", y.run(a.ID).PendingDecision.By, rita.Name)
	equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), rita))), 3)
	_, err := y.s.ApproveMany(y.ctx(), oleg, list, 0)
	refused(t, err, task.CodeForbidden)
	_, err = y.s.ApproveMany(y.ctx(), rita, nil, 0)
	refused(t, err, task.CodeInvalidField)
	d = must(y.s.UndoDecisions(y.ctx(), rita, []task.ID{a.ID, b.ID}))
	equal(t, "undone and skipped", [2]int{len(d.Done), len(d.Skipped)}, [2]int{1, 1})
	d = must(y.s.ApproveMany(y.ctx(), rita, []Reviewed{{a.ID, a.Approval.Version}}, 0))
	equal(t, "queued at once", y.run(d.Done[0]).State(), queued)
}

// TestADecisionNeedsTheRightOfWhoMadeIt when it takes effect, not only when it
// was made.
func TestADecisionNeedsTheRightOfWhoMadeIt(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, task.ID, task.Actor, *task.Task, *task.Run) {
		y := newInstance(t)
		u := must(y.s.AddUser(y.ctx(), maya, "tess", "correct horse battery", task.RoleReviewer))
		tk, r := y.waits()
		return y, u.ID, must(y.s.UserActor(y.ctx(), u.ID, "")), tk, r
	}
	// dropped checks that a run waits for a reviewer again, and that the log says why.
	dropped := func(t *testing.T, y *instance, r *task.Run, by, why string) {
		t.Helper()
		equal(t, "started", y.later(undo) == nil, true)
		now := y.run(r.ID)
		equal(t, "state", now.State(), waiting)
		equal(t, "pending", now.PendingDecision == nil, true)
		e := last(must(y.s.Events(y.ctx(), maya, task.EventFilter{TaskID: r.TaskID, Limit: 500})))
		equal(t, "event", e.Kind, task.EvRunUndone)
		equal(t, "actor", e.Actor, by)
		if !strings.Contains(string(e.Changes), why) {
			t.Errorf("the event says %s, not %q", e.Changes, why)
		}
		y.approve(r.ID, task.ScopeOnce)
		equal(t, "started run", y.start().Run.ID, r.ID)
	}
	decisions := map[string]func(y *instance, a task.Actor, id task.ID) error{
		"approval": func(y *instance, a task.Actor, id task.ID) error {
			return onlyErr(y.s.ApproveRun(y.ctx(), a, id, Approve{Undo: undo, Scope: task.ScopeTask}))
		},
		"denial": func(y *instance, a task.Actor, id task.ID) error {
			return onlyErr(y.s.DenyRun(y.ctx(), a, id, "no", undo))
		},
	}
	lost := map[string]struct {
		change UserChange
		why    string
	}{
		"disabled": {UserChange{Disabled: ptr(true)}, "the account of tess is disabled"},
		"a viewer": {UserChange{Role: ptr(task.RoleViewer)}, "tess now has the role viewer, which may not decide"},
	}
	for what, decide := range decisions {
		for now, c := range lost {
			t.Run("the "+what+" of somebody who is "+now+" is dropped", func(t *testing.T) {
				t.Parallel()
				y, id, tess, tk, r := begin(t)
				ok(t, decide(y, tess, r.ID))
				must(y.s.UpdateUser(y.ctx(), maya, id, c.change))
				dropped(t, y, r, task.System, c.why)
				equal(t, "failures", y.task(tk.ID).Failures, 0)
			})
		}
	}
	t.Run("that of an admin who is a reviewer by now takes effect", func(t *testing.T) {
		t.Parallel()
		y, id, _, _, r := begin(t)
		must(y.s.UpdateUser(y.ctx(), maya, id, UserChange{Role: ptr(task.RoleAdmin)}))
		ok(t, decisions["approval"](y, must(y.s.UserActor(y.ctx(), id, "")), r.ID))
		must(y.s.AddUser(y.ctx(), maya, "ada", "correct horse battery", task.RoleAdmin))
		must(y.s.UpdateUser(y.ctx(), maya, id, UserChange{Role: ptr(task.RoleReviewer)}))
		equal(t, "approved by", y.later(undo).Run.Approval.By, "user:tess")
	})
	t.Run("that of the only reviewer, who asked for the run, is dropped when there is another", func(t *testing.T) {
		t.Parallel()
		y, _, tess, tk, first := begin(t)
		must(y.s.CancelRun(y.ctx(), maya, first.ID, ""))
		program := tess
		program.TokenID = must(y.s.CreateToken(y.ctx(), tess, NewToken{Name: "program", Scope: "review", Own: true})).ID
		r := must(y.s.RunNow(y.ctx(), program, tk.ID))
		ok(t, decisions["approval"](y, tess, r.ID))
		must(y.s.AddUser(y.ctx(), maya, "rita", "correct horse battery", task.RoleReviewer))
		dropped(t, y, r, tess.Name, "another reviewer must approve it")
	})
}
