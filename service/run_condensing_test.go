package service

import (
	"testing"

	"taskyard/task"
)

func TestARunIsCondensedBeforeItIsComplete(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	r := st.Run
	ok(t, y.s.RunWorking(y.ctx(), r.ID, r.Lease, 0, "", ""))
	ok(t, y.s.RunCondensing(y.ctx(), r.ID, r.Lease))
	equal(t, "state", y.run(r.ID).State(), task.State{Status: task.RunRunning, Phase: task.PhaseCondensing})
	refused(t, y.s.RunCondensing(y.ctx(), r.ID, r.Lease+1), task.CodeStaleLease)
	ok(t, y.s.FinishRun(y.ctx(), r.ID, r.Lease, completed("in short")))
	equal(t, "state", y.run(r.ID).State(), task.State{Status: task.RunCompleted, Phase: task.PhaseEnded})
	refused(t, y.s.RunCondensing(y.ctx(), r.ID, r.Lease), task.CodeStaleLease)
}

func TestWhatARunnerUsesStandsInThePlan(t *testing.T) {
	y := newInstance(t, script(Runner{Model: "small", Workspace: "/srv/work"}))
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	spec := y.start().Spec
	equal(t, "model", spec.Model, "small")
	equal(t, "workspace", spec.Workspace, "/srv/work")
	equal(t, "network", spec.Network, false)

	y.define("linked", definition("tools: read", "model: big", "workspace: /srv/own", "network: true"))
	tk = y.create(maya, "linked", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	spec = y.start().Spec
	equal(t, "model", spec.Model, "big")
	equal(t, "workspace", spec.Workspace, "/srv/own")
	equal(t, "network", spec.Network, true)
}
