package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// tree returns an instance with runs three deep: boss (1000 tokens, 2 USD) delegated
// to lead, which delegated to hand.
func tree(t *testing.T) (inst *instance, root, mid, leaf *Start) {
	inst = delegating(t, func(c *Config) { c.MaxParallel = 16 }, tool(func(c *task.DelegationRules) { c.MaxDepth = 3 }))
	_, root, own := inst.inRun("boss")
	inst.delegate(own, task.Delegation{AgentType: "lead"})
	mid = inst.start()
	inst.delegate(inst.actor(mid), task.Delegation{})
	return inst, root, mid, inst.start()
}

func TestATreeStaysWithinTheLimitsOfItsRoot(t *testing.T) {
	t.Parallel()
	state := func(inst *instance, st *Start) string { inst.t.Helper(); return inst.run(st.Run.ID).State().String() }
	t.Run("three deep, the usage of the lowest counts for the root at once", func(t *testing.T) {
		inst, root, mid, leaf := tree(t)
		inst.reportUsage(root, 300, 0)
		inst.reportUsage(mid, 300, 0)
		inst.reportUsage(leaf, 400, 0)
		equal(t, "at its limit", state(inst, root), "running/working")
		inst.reportUsage(leaf, 1, 0)
		equal(t, "root", state(inst, root), "failed/tokens")
		equal(t, "reason", inst.run(root.Run.ID).Reason, "It used 1001 tokens of at most 1000, what it delegated included")
		equal(t, "mid", inst.run(mid.Run.ID).Status, task.RunCanceled)
		equal(t, "leaf", inst.run(leaf.Run.ID).Status, task.RunCanceled)
	})
	t.Run("concurrent children share their parent's limits", func(t *testing.T) {
		inst := delegating(t, func(c *Config) { c.MaxParallel = 16 })
		_, root, own := inst.inRun("boss")
		var kids []*Start
		for range 3 { // each got all that remained
			inst.delegate(own, task.Delegation{})
			kids = append(kids, inst.start())
			equal(t, "tokens", kids[len(kids)-1].Spec.Limits.MaxTokens, 1000)
		}
		for _, k := range kids {
			inst.reportUsage(k, 333, 0)
		}
		equal(t, "within", state(inst, root), "running/working")
		inst.reportUsage(kids[2], 2, 0)
		equal(t, "root", state(inst, root), "failed/tokens")
		for _, k := range kids {
			equal(t, "child", inst.run(k.Run.ID).Status, task.RunCanceled)
		}
	})
	t.Run("usage reported only at a child's end counts too, and the child is done", func(t *testing.T) {
		inst, root, _, leaf := tree(t)
		f := completed("found it")
		f.Usage = task.Usage{TokensIn: 10, CostUSD: 2.5}
		inst.finish(leaf, f)
		equal(t, "leaf", inst.run(leaf.Run.ID).Status, task.RunCompleted)
		equal(t, "root", state(inst, root), "failed/cost")
		equal(t, "reason", inst.run(root.Run.ID).Reason, "It cost 2.5000 USD of at most 2.0000, what it delegated included")
	})
	t.Run("a child that outlives the root shares the same limit", func(t *testing.T) {
		inst, root, mid, leaf := tree(t)
		inst.reportUsage(root, 900, 0)
		f := completed("the rest is under way")
		f.Usage = task.Usage{TokensIn: 900}
		inst.finish(root, f)
		equal(t, "mid continues", state(inst, mid), "running/working")
		inst.reportUsage(leaf, 100, 0)
		equal(t, "leaf at the limit", state(inst, leaf), "running/working")
		inst.reportUsage(leaf, 1, 0)
		equal(t, "leaf", state(inst, leaf), "failed/tokens")
		equal(t, "reason", inst.run(leaf.Run.ID).Reason,
			"Run 1, by which it was delegated, was given a limit for all of that. It used 1001 tokens of at most 1000")
	})
	t.Run("a grandchild gets no more than the root has left", func(t *testing.T) {
		inst, root, mid, _ := tree(t)
		inst.reportUsage(root, 950, 1.5)
		inst.Forward(190 * time.Second)
		d := inst.delegate(inst.actor(mid), task.Delegation{})
		l := inst.run(d.RunID).Limits
		equal(t, "tokens", l.MaxTokens, 50)
		equal(t, "cost", l.MaxCostUSD, 0.5)
		equal(t, "seconds", l.TimeoutSeconds, 10)
		inst.reportUsage(root, 50, 0)
		inst.wantRefused(inst.actor(mid), task.Delegation{}, task.CodeInvalidField, "limits.maxTokens",
			"run 1 has no tokens left to give: 1000 of 1000")
	})
}
