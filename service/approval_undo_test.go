package service

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

const undo = task.UndoWindow

// approveHeld approves a waiting run in a way that can be undone.
func (inst *instance) approveHeld(id task.ID) *task.Run {
	inst.t.Helper()
	return must(inst.s.ApproveRun(inst.ctx(), rita, id, Approve{Undo: undo}))
}

// startLater moves the clock forward and starts what the dispatcher finds.
func (inst *instance) startLater(d time.Duration) *Start {
	inst.t.Helper()
	inst.Forward(d)
	st, _, err := inst.s.NextRun(inst.ctx(), nil)
	ok(inst.t, err)
	return st
}

func TestADecisionIsHeldWhileItCanBeUndone(t *testing.T) {
	t.Parallel()
	t.Run("an approved run starts after the undo period, not before", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		h := inst.approveHeld(r.ID)
		equal(t, "state", h.State(), waiting)
		equal(t, "held", h.PendingDecision.Decision, "approved")
		st, later, err := inst.s.NextRun(inst.ctx(), nil)
		ok(t, err)
		equal(t, "started", st == nil, true)
		equal(t, "the dispatcher's next check", later, h.PendingDecision.Until)
		equal(t, "not started too early", inst.startLater(undo-time.Millisecond) == nil, true)
		st = inst.startLater(time.Millisecond)
		equal(t, "started run", st.Run.ID, r.ID)
		equal(t, "approved by", st.Run.Approval.By, rita.Name)
		equal(t, "held", st.Run.PendingDecision == nil, true)
	})
	t.Run("it takes effect after a crash too, and not earlier", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		inst.s = inst.service() // another process on the same database
		equal(t, "started", inst.startLater(time.Second) == nil, true)
		equal(t, "started run", inst.startLater(undo).Run.ID, r.ID)
	})
	t.Run("an undone decision leaves the run waiting", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), rita))), 0)
		equal(t, "may be undone", must(inst.s.PendingDecisions(inst.ctx(), rita))[0].ID, r.ID)
		equal(t, "may be undone by another", len(must(inst.s.PendingDecisions(inst.ctx(), maya))), 0)
		d := must(inst.s.UndoDecisions(inst.ctx(), rita, []task.ID{r.ID}))
		equal(t, "undone", d.Done[0], r.ID)
		equal(t, "event", last(inst.kinds(r.TaskID)), task.EvRunUndone)
		equal(t, "started", inst.startLater(time.Hour) == nil, true)
		equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), rita))), 1)
		inst.approve(r.ID, task.ScopeOnce)
		equal(t, "started run", inst.start().Run.ID, r.ID)
	})
	t.Run("a denial takes effect after the undo period", func(t *testing.T) {
		inst := newInstance(t)
		tk, r := inst.waitingTask()
		h := must(inst.s.DenyRun(inst.ctx(), rita, r.ID, " not so ", undo))
		equal(t, "state", h.State(), waiting)
		equal(t, "failures", inst.task(tk.ID).Failures, 0)
		inst.startLater(undo)
		now := inst.run(r.ID)
		equal(t, "state", now.State().String(), "canceled/denied")
		equal(t, "by", now.Approval.By, rita.Name)
		equal(t, "reason", now.Approval.Reason, "not so")
		equal(t, "failures", inst.task(tk.ID).Failures, 3)
	})
	t.Run("an undone scope leaves no grant", func(t *testing.T) {
		inst := newInstance(t)
		tk, r := inst.waitingTask()
		must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Undo: undo, Scope: task.ScopeTask, Limits: task.Limits{MaxTurns: 3}}))
		must(inst.s.UndoDecisions(inst.ctx(), rita, []task.ID{r.ID}))
		inst.approve(r.ID, task.ScopeOnce)
		st := inst.start()
		equal(t, "turns", st.Run.Limits.MaxTurns, 0)
		inst.finish(st, completed("ok"))
		equal(t, "state of the next", must(inst.s.RunNow(inst.ctx(), planner, tk.ID)).State(), waiting)
	})
	t.Run("changes meanwhile are asked again, and the earlier version is kept", func(t *testing.T) {
		inst := newInstance(t)
		tk, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		must(inst.s.UpdateTask(inst.ctx(), planner, tk.ID, task.Patch{Title: ptr("Delete it all")}))
		equal(t, "started", inst.startLater(undo) == nil, true)
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvRunVoided)
		equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), rita))), 1)
		before := must(inst.s.SpecBefore(inst.ctx(), rita, r.ID, r.Approval.Version))
		equal(t, "prompt before", before.Prompt, r.Spec.Prompt)
	})
	t.Run("an agent removed meanwhile leaves the run waiting", func(t *testing.T) {
		inst := newInstance(t)
		tk, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		inst.define("coder", definition("tools: read", "runner: none"))
		equal(t, "started", inst.startLater(undo) == nil, true)
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvRunUndone)
		equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), rita))), 1)
	})
	t.Run("a run canceled meanwhile stays canceled", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		must(inst.s.CancelRun(inst.ctx(), oleg, r.ID, ""))
		equal(t, "started", inst.startLater(undo) == nil, true)
		equal(t, "state", inst.run(r.ID).State().String(), "canceled/by")
	})
}

func TestAHeldDecisionIsADecision(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	_, r := inst.waitingTask()
	inst.approveHeld(r.ID)
	one := []task.ID{r.ID}
	t.Run("it cannot be decided again", func(t *testing.T) {
		_, err := inst.s.ApproveRun(inst.ctx(), maya, r.ID, Approve{})
		refused(t, err, task.CodeRunDecided, "already approved by rita")
		_, err = inst.s.DenyRun(inst.ctx(), maya, r.ID, "no", 0)
		refused(t, err, task.CodeRunDecided, "already approved by rita")
	})
	t.Run("only the person who decided can undo it", func(t *testing.T) {
		for _, a := range []task.Actor{coder, oleg, maya} {
			_, err := inst.s.UndoDecisions(inst.ctx(), a, one)
			refused(t, err, task.CodeForbidden)
		}
	})
	t.Run("it does not expire", func(t *testing.T) {
		inst := newInstance(t, func(c *Config) { c.ApprovalExpires = undo / 2 })
		_, r := inst.waitingTask()
		inst.approveHeld(r.ID)
		inst.Forward(undo)
		equal(t, "expired", must(inst.s.ExpireApprovals(inst.ctx())), 0)
		equal(t, "started run", inst.startLater(0).Run.ID, r.ID)
	})
	t.Run("a late undo is refused, before and after it takes effect", func(t *testing.T) {
		inst.Forward(undo)
		_, err := inst.s.UndoDecisions(inst.ctx(), rita, one)
		refused(t, err, task.CodeRunDecided, "could be undone until")
		inst.startLater(0)
		_, err = inst.s.UndoDecisions(inst.ctx(), rita, one)
		refused(t, err, task.CodeRunDecided, "has taken effect")
	})
	t.Run("a run without a decision has nothing to undo", func(t *testing.T) {
		_, r := inst.waitingTask()
		_, err := inst.s.UndoDecisions(inst.ctx(), rita, []task.ID{r.ID})
		refused(t, err, task.CodeRunDecided, "waiting for a reviewer")
		_, err = inst.s.UndoDecisions(inst.ctx(), rita, nil)
		refused(t, err, task.CodeInvalidField)
	})
	t.Run("an undo period over a minute is refused", func(t *testing.T) {
		for _, d := range []time.Duration{-1, task.MaxUndoWindow + 1} {
			_, err := inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{Undo: d})
			refused(t, err, task.CodeInvalidField, "0 to 60")
			_, err = inst.s.DenyRun(inst.ctx(), rita, r.ID, "no", d)
			refused(t, err, task.CodeInvalidField, "0 to 60")
		}
	})
}

func TestBulkApproval(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	reads := func() *task.Run { return inst.requestRun(inst.create(planner, "reviewer", noStart).ID) }
	a, b, gone, changed := reads(), reads(), reads(), reads()
	_, writes := inst.waitingTask()
	inst.approve(gone.ID, task.ScopeOnce)
	must(inst.s.UpdateTask(inst.ctx(), planner, changed.TaskID, task.Patch{Title: ptr("Other")}))
	list := []Reviewed{
		{a.ID, a.Approval.Version},
		{gone.ID, gone.Approval.Version},
		{changed.ID, changed.Approval.Version},
		{writes.ID, writes.Approval.Version},
		{b.ID, ""},
		{b.ID, "old"},
		{99, "x"},
	}
	d := must(inst.s.ApproveMany(inst.ctx(), rita, list, undo))
	equal(t, "done", len(d.Done), 1)
	equal(t, "run", d.Done[0], a.ID)
	equal(t, "skipped", len(d.Skipped), 6)
	equal(t, "held", inst.run(a.ID).PendingDecision.By, rita.Name)
	equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), rita))), 3)
	_, err := inst.s.ApproveMany(inst.ctx(), oleg, list, 0)
	refused(t, err, task.CodeForbidden)
	_, err = inst.s.ApproveMany(inst.ctx(), rita, nil, 0)
	refused(t, err, task.CodeInvalidField)
	d = must(inst.s.UndoDecisions(inst.ctx(), rita, []task.ID{a.ID, b.ID}))
	equal(t, "undone and skipped", [2]int{len(d.Done), len(d.Skipped)}, [2]int{1, 1})
	d = must(inst.s.ApproveMany(inst.ctx(), rita, []Reviewed{{a.ID, a.Approval.Version}}, 0))
	equal(t, "queued at once", inst.run(d.Done[0]).State(), queued)
}

// TestADecisionRequiresTheRightsOfItsAuthor checks the right when the decision takes
// effect, not only when it is made.
func TestADecisionRequiresTheRightsOfItsAuthor(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, task.ID, task.Actor, *task.Task, *task.Run) {
		inst := newInstance(t)
		u := must(inst.s.AddUser(inst.ctx(), maya, "tess", "correct horse battery", task.RoleReviewer))
		tk, r := inst.waitingTask()
		return inst, u.ID, must(inst.s.UserActor(inst.ctx(), u.ID, "")), tk, r
	}
	// dropped checks that a run waits for a reviewer again and that the log says why.
	dropped := func(t *testing.T, inst *instance, r *task.Run, by, why string) {
		t.Helper()
		equal(t, "started", inst.startLater(undo) == nil, true)
		now := inst.run(r.ID)
		equal(t, "state", now.State(), waiting)
		equal(t, "pending", now.PendingDecision == nil, true)
		e := last(must(inst.s.Events(inst.ctx(), maya, task.EventFilter{TaskID: r.TaskID, Limit: 500})))
		equal(t, "event", e.Kind, task.EvRunUndone)
		equal(t, "actor", e.Actor, by)
		if !strings.Contains(string(e.Changes), why) {
			t.Errorf("got event %s, want reason %q", e.Changes, why)
		}
		inst.approve(r.ID, task.ScopeOnce)
		equal(t, "started run", inst.start().Run.ID, r.ID)
	}
	decisions := map[string]func(inst *instance, a task.Actor, id task.ID) error{
		"approval": func(inst *instance, a task.Actor, id task.ID) error {
			return onlyErr(inst.s.ApproveRun(inst.ctx(), a, id, Approve{Undo: undo, Scope: task.ScopeTask}))
		},
		"denial": func(inst *instance, a task.Actor, id task.ID) error {
			return onlyErr(inst.s.DenyRun(inst.ctx(), a, id, "no", undo))
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
			t.Run("the "+what+" of a person who is now "+now+" is dropped", func(t *testing.T) {
				t.Parallel()
				inst, id, tess, tk, r := begin(t)
				ok(t, decide(inst, tess, r.ID))
				must(inst.s.UpdateUser(inst.ctx(), maya, id, c.change))
				dropped(t, inst, r, task.System, c.why)
				equal(t, "failures", inst.task(tk.ID).Failures, 0)
			})
		}
	}
	t.Run("the decision of an admin who is now a reviewer takes effect", func(t *testing.T) {
		t.Parallel()
		inst, id, _, _, r := begin(t)
		must(inst.s.UpdateUser(inst.ctx(), maya, id, UserChange{Role: ptr(task.RoleAdmin)}))
		ok(t, decisions["approval"](inst, must(inst.s.UserActor(inst.ctx(), id, "")), r.ID))
		must(inst.s.AddUser(inst.ctx(), maya, "ada", "correct horse battery", task.RoleAdmin))
		must(inst.s.UpdateUser(inst.ctx(), maya, id, UserChange{Role: ptr(task.RoleReviewer)}))
		equal(t, "approved by", inst.startLater(undo).Run.Approval.By, "user:tess")
	})
	t.Run("the decision of the only reviewer on their own run is dropped if there is another", func(t *testing.T) {
		t.Parallel()
		inst, _, tess, tk, first := begin(t)
		must(inst.s.CancelRun(inst.ctx(), maya, first.ID, ""))
		program := tess
		program.TokenID = must(inst.s.CreateToken(inst.ctx(), tess, NewToken{Name: "program", Scope: "review", Own: true})).ID
		r := must(inst.s.RunNow(inst.ctx(), program, tk.ID))
		ok(t, decisions["approval"](inst, tess, r.ID))
		must(inst.s.AddUser(inst.ctx(), maya, "rita", "correct horse battery", task.RoleReviewer))
		dropped(t, inst, r, tess.Name, "another reviewer must approve it")
	})
}
