package browser

import (
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestChangesBeforeTheStreamOpensAreNotLost(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Changes at once", Steps: []task.Step{{Title: "First"}, {Title: "Second"}}})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Said before anybody listened."))
	b.see("Said before anybody listened.")
	done := true
	must(inst.svc.UpdateStep(ctx, inst.maya, tk.ID, 1, task.StepPatch{Done: &done}))
	b.see("1 of 2")
}

func TestApproveByKeyAndSeeTheNextRun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	first, second := inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}),
		inst.create(task.New{Title: "Rotate the keys", Owner: "keeper"})
	r, next := inst.ask(first.ID), inst.ask(second.ID)
	b := inst.tab()
	b.open("/approvals/" + r.ID.String())
	b.awaitSeen()
	b.loads(typed("a"))
	b.see("Run 1 approved.")
	b.at("/approvals/" + next.ID.String())
	b.wait(`document.querySelector("form[action='/runs/` + next.ID.String() + `/approve']")`)
	b.see("Rotate the keys")
	equal(t, "decision", inst.decided(r.ID), "approved")
	equal(t, "decision on the next", must(inst.svc.Run(ctx, inst.maya, next.ID)).Approval.Decision, "")
	inst.stage.agent(t, first.ID).say("exit")
}

// TestFilteredPagesAreQuiet opens addresses that no other test does; the tab fails on
// every fault that the browser reports.
func TestFilteredPagesAreQuiet(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := s.tab()
	for _, p := range testkit.Sample(3, []string{
		"/", "/queues?agent=coder", "/queues?status=waiting", "/tasks?q=release", "/tasks?status=failed&agent=coder", "/approvals",
		"/runs?status=failed&agent=coder", "/runs?task=" + s.failed.String(), "/history?q=first&status=done",
		"/tasks/new?owner=coder", "/tasks/new?follow=" + s.canceled.String(),
		path(s.ship, "/steps/0/edit"), "/agents/translator/edit",
	}) {
		b.open(p)
		b.wait(`document.readyState === "complete" && document.querySelector("main h1")`)
	}
}
