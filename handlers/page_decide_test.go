package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// settleDecisions lets due decisions take effect.
func (s *site) settleDecisions() {
	s.t.Helper()
	_, _, err := s.svc.NextRun(context.Background(), nil)
	s.ok(err)
}

// waitingRun makes a run of an agent wait for a reviewer.
func (s *site) waitingRun(agent, title string) *task.Run {
	s.t.Helper()
	tk := s.newTask(asAgent("planner"), task.New{Owner: agent, Title: title, NoStart: true})
	r, err := s.svc.RunNow(context.Background(), asAgent("planner"), tk.ID)
	s.ok(err)
	return r
}

func TestADecisionIsUndoneOnThePage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	rita := inst.person("rita", task.RoleReviewer)
	r := inst.waitingRun("reviewer", "Look at it")
	at := "/runs/" + r.ID.String()
	approve := func() *webPage { return b.post(at+"/approve", "version", r.Approval.Version) }

	t.Run("every page of the person who decided offers the undo, and no one else's", func(t *testing.T) {
		approve().redirectsTo("/approvals").shows("Run 1 approved.", `value="1"`, "No approvals waiting")
		b.get("/queues").shows("Run 1 approved.")
		rita.get("/approvals/1").hides("/approvals/undo").shows("Approved by maya")
		rita.post("/approvals/undo", "run", "1").is(403)
	})
	t.Run("undone, the run waits again", func(t *testing.T) {
		b.post("/approvals/undo", "run", "1").redirectsTo("/approvals/1").shows("Undone", "data-approve", "1 waiting")
		inst.Forward(task.UndoWindow)
		inst.settleDecisions()
		b.get(at).shows("Waits for approval")
	})
	t.Run("a late undo is refused, before and after the decision takes effect", func(t *testing.T) {
		approve().is(303)
		inst.Forward(task.UndoWindow)
		b.post("/approvals/undo", "run", "1").is(409).shows("Your undo was too late", "maya approved this run")
		inst.settleDecisions()
		b.post("/approvals/undo", "run", "1").is(409).shows("Your undo was too late", "maya approved this run")
	})
	t.Run("an undo without a run is refused", func(t *testing.T) {
		b.post("/approvals/undo").is(422)
		b.post("/approvals/undo", "run", "x").is(422)
		b.post("/approvals/undo", "run", "99").is(404)
	})
}

func TestAReviewerSeesErrorsAndChanges(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	rita := inst.person("rita", task.RoleReviewer)
	r := inst.waitingRun("coder", "Tidy the tests")
	at := "/runs/" + r.ID.String()

	t.Run("an invalid limit is reported at its field", func(t *testing.T) {
		b.post(at+"/approve", "timeoutSeconds", "999999", "maxCostUsd", "-1").is(422).
			shows(`id="timeoutSeconds-err"`, "May only be tightened", `id="maxCostUsd-err"`, "Must be positive", `value="999999"`)
		b.post(at+"/approve", "maxTurns", "x", "maxCostUsd", "NaN").is(422).shows(`id="maxTurns-err"`, `id="maxCostUsd-err"`)
		b.post(at+"/deny", "reason", "").is(422).shows(`id="reason-err"`)
	})
	t.Run("changes since the review are shown as a diff", func(t *testing.T) {
		title := "Tidy the tests and delete the rest"
		_, err := inst.svc.UpdateTask(t.Context(), asAgent("planner"), r.TaskID, task.Patch{Title: &title})
		inst.ok(err)
		a := b.post(at+"/approve", "version", r.Approval.Version).is(409).
			shows("has changed since you reviewed it", "What changed since you reviewed it",
				`<del class="del">`, "and delete the rest", `<ins class="add">`)
		b.get("/approvals/1").shows("What changed since the previous request")
		b.post(at+"/approve", "version", a.field(at+"/approve", "version")).is(303)
	})
	t.Run("the second reviewer sees who decided first", func(t *testing.T) {
		rita.post(at+"/deny", "reason", "No").is(409).shows("Your rejection was too late; nothing changed", "maya approved this run")
		inst.Forward(task.UndoWindow)
		inst.settleDecisions()
		rita.post(at+"/approve").is(409).shows("maya approved this run", "is starting")
	})
	t.Run("a run that was canceled meanwhile says so", func(t *testing.T) {
		r := inst.waitingRun("coder", "Another")
		_, err := inst.svc.CancelRun(t.Context(), mayaActor, r.ID, "not needed")
		inst.ok(err)
		rita.post("/runs/2/approve").is(409).shows("Your approval was too late", "was stopped (not needed)")
	})
}

func TestReadOnlyRunsAreApprovedTogether(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	inst.srv.opt.EnforcementGap = nil // the runner keeps to the list of tools
	b := inst.maya()
	one, two, writes := inst.waitingRun("reviewer", "Read one"), inst.waitingRun("reviewer", "Read two"), inst.waitingRun("coder", "Write")
	value := func(r *task.Run) string { return r.ID.String() + ":" + r.Approval.Version }
	t.Run("runs that write are not offered", func(t *testing.T) {
		a := b.get("/approvals").shows("2 runs with read-only tools", value(one), value(two))
		if strings.Contains(a.body, `name="run" value="3:`) {
			t.Error("a run that writes is offered")
		}
		b.post("/approvals/approve", "run", value(writes)).redirectsTo("/approvals").shows("0 runs approved, 1 skipped", "may do more than read")
	})
	t.Run("runs that changed are skipped, the others are approved and can be undone", func(t *testing.T) {
		b.post("/approvals/approve", "run", value(one), "run", two.ID.String()+":old").redirectsTo("/approvals").
			shows("1 run approved, 1 skipped", "has changed since you reviewed it", "Run 1 approved.")
		b.post("/approvals/undo", "run", "1", "run", "2").redirectsTo("/approvals/1").shows("1 run wait again, 1 skipped")
		b.post("/approvals/approve", "run", value(one), "run", value(two)).redirectsTo("/approvals").shows("2 runs approved.")
	})
	t.Run("a run whose runner enforces less is reviewed separately", func(t *testing.T) {
		inst.srv.opt.EnforcementGap = weakerScript
		r := inst.waitingRun("reviewer", "Read three")
		b.get("/approvals").hides("with read-only tools")
		b.post("/approvals/approve", "run", value(r)).redirectsTo("/approvals").shows("0 runs approved, 1 skipped")
	})
	t.Run("invalid input is refused", func(t *testing.T) {
		b.post("/approvals/approve").is(422)
		b.post("/approvals/approve", "run", "x:y").is(422)
	})
}
