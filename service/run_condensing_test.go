package service

import (
	"testing"

	"taskyard/task"
)

func TestARunIsCondensedBeforeItIsComplete(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	st := inst.runTask(tk.ID)
	r := st.Run
	ok(t, inst.s.RunWorking(inst.ctx(), r.ID, r.Lease, 0, "", ""))
	ok(t, inst.s.RunCondensing(inst.ctx(), r.ID, r.Lease))
	equal(t, "state", inst.run(r.ID).State(), task.State{Status: task.RunRunning, Phase: task.PhaseCondensing})
	refused(t, inst.s.RunCondensing(inst.ctx(), r.ID, r.Lease+1), task.CodeStaleLease)
	ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("in short")))
	equal(t, "state", inst.run(r.ID).State(), task.State{Status: task.RunCompleted, Phase: task.PhaseEnded})
	refused(t, inst.s.RunCondensing(inst.ctx(), r.ID, r.Lease), task.CodeStaleLease)
}

func TestThePlanNamesModelWorkspaceAndNetwork(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, script(Runner{Model: "small", Workspace: "/srv/work"}))
	tk := inst.create(maya, "coder", noStart)
	spec := inst.runTask(tk.ID).Spec
	equal(t, "model", spec.Model, "small")
	equal(t, "workspace", spec.Workspace, "/srv/work")
	equal(t, "network", spec.Network, false)

	inst.define("linked", definition("tools: read", "model: big", "workspace: /srv/own", "network: true"))
	tk = inst.create(maya, "linked", noStart)
	spec = inst.runTask(tk.ID).Spec
	equal(t, "model", spec.Model, "big")
	equal(t, "workspace", spec.Workspace, "/srv/own")
	equal(t, "network", spec.Network, true)
}
