package service

import (
	"strings"
	"testing"
)

// newShellsInstance returns an instance whose agent reader has a shell without
// network access and variables, root one with both, and free one with network access
// whose runs never wait.
func newShellsInstance(t *testing.T) *instance {
	inst := newInstance(t, wakes)
	own := []string{"tools: read, task, bash", "runner: script", "max_parallel: 9"}
	inst.define("reader", definition(own...))
	inst.define("root", definition(append(own, "network: true", "env: [DEPLOY_KEY]")...))
	inst.define("free", definition(append(own, "network: true", "approval: never")...))
	return inst
}

func TestAShellWithNetworkAccessOrSecretsWaitsForAPerson(t *testing.T) {
	t.Parallel()
	forEachWay(t, func(t *testing.T, inRun bool, way string) {
		inst := newShellsInstance(t)
		a, end := inst.readerActor(inRun)
		id := ways[way].do(inst, a, "root")
		end()
		r := inst.openRun(id)
		equal(t, "state", r.State(), waiting)
		if way == "delegate" {
			equal(t, "network", r.Spec.Network, false)
			return
		}
		if want := "by reader, who lacks network access and DEPLOY_KEY"; !strings.Contains(r.Approval.RequestReason, want) {
			t.Errorf("got approval reason %q, want %q", r.Approval.RequestReason, want)
		}
		must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{}))
		equal(t, "network after a person approved", inst.start().Spec.Network, true)
	})
	t.Run("not where the agent that hands over has both", func(t *testing.T) {
		inst := newShellsInstance(t)
		id := inst.create(maya, "root", noStart).ID
		inst.signup(admin)
		must(inst.s.MoveTask(inst.ctx(), admin, Move{TaskID: id, CurrentAgent: "root", NewAgent: "reader", Comment: "look"}))
		equal(t, "state", inst.openRun(id).State(), queued)
	})
}

func TestAShellWithoutApprovalsHasNoNetworkThatItsCauseLacks(t *testing.T) {
	t.Parallel()
	forEachWay(t, func(t *testing.T, inRun bool, way string) {
		inst := newShellsInstance(t)
		a, end := inst.readerActor(inRun)
		ways[way].do(inst, a, "free")
		end()
		equal(t, "network", inst.start().Spec.Network, false)
	})
	t.Run("a person's task has it", func(t *testing.T) {
		inst := newShellsInstance(t)
		inst.create(maya, "free")
		equal(t, "network", inst.start().Spec.Network, true)
	})
}
