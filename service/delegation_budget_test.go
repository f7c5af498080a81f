package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// tree is an instance of runs three deep: boss (1000 tokens, 2 USD) delegated to
// lead, which delegated to hand.
func tree(t *testing.T) (y *instance, root, mid, leaf *Start) {
	y = delegating(t, func(c *Config) { c.MaxParallel = 16 }, tool(func(c *task.DelegationRules) { c.MaxDepth = 3 }))
	_, root, own := y.inRun("boss")
	y.delegate(own, task.Delegation{AgentType: "lead"})
	mid = y.start()
	y.delegate(y.actor(mid), task.Delegation{})
	return y, root, mid, y.start()
}

func TestATreeUsesNoMoreThanItsRootMay(t *testing.T) {
	state := func(y *instance, st *Start) string { y.t.Helper(); return y.run(st.Run.ID).State().String() }
	t.Run("three deep, what the lowest uses counts for the root at once", func(t *testing.T) {
		y, root, mid, leaf := tree(t)
		y.uses(root, 300, 0)
		y.uses(mid, 300, 0)
		y.uses(leaf, 400, 0)
		equal(t, "at its limit", state(y, root), "running/working")
		y.uses(leaf, 1, 0)
		equal(t, "root", state(y, root), "failed/tokens")
		equal(t, "reason", y.run(root.Run.ID).Reason, "It used 1001 tokens of at most 1000, what it delegated included")
		equal(t, "mid", y.run(mid.Run.ID).Status, task.RunCanceled)
		equal(t, "leaf", y.run(leaf.Run.ID).Status, task.RunCanceled)
	})
	t.Run("children side by side share what their parent may use", func(t *testing.T) {
		y := delegating(t, func(c *Config) { c.MaxParallel = 16 })
		_, root, own := y.inRun("boss")
		var kids []*Start
		for range 3 { // each was given all that was left
			y.delegate(own, task.Delegation{})
			kids = append(kids, y.start())
			equal(t, "tokens", kids[len(kids)-1].Spec.Limits.MaxTokens, 1000)
		}
		for _, k := range kids {
			y.uses(k, 333, 0)
		}
		equal(t, "within", state(y, root), "running/working")
		y.uses(kids[2], 2, 0)
		equal(t, "root", state(y, root), "failed/tokens")
		for _, k := range kids {
			equal(t, "child", y.run(k.Run.ID).Status, task.RunCanceled)
		}
	})
	t.Run("what a child tells at its end alone counts too, and the child is done", func(t *testing.T) {
		y, root, _, leaf := tree(t)
		f := completed("found it")
		f.Usage = task.Usage{TokensIn: 10, CostUSD: 2.5}
		y.finish(leaf, f)
		equal(t, "leaf", y.run(leaf.Run.ID).Status, task.RunCompleted)
		equal(t, "root", state(y, root), "failed/cost")
		equal(t, "reason", y.run(root.Run.ID).Reason, "It cost 2.5000 USD of at most 2.0000, what it delegated included")
	})
	t.Run("a child that outlives the root is held to the same sum", func(t *testing.T) {
		y, root, mid, leaf := tree(t)
		y.uses(root, 900, 0)
		f := completed("the rest is under way")
		f.Usage = task.Usage{TokensIn: 900}
		y.finish(root, f)
		equal(t, "mid continues", state(y, mid), "running/working")
		y.uses(leaf, 100, 0)
		equal(t, "leaf at the limit", state(y, leaf), "running/working")
		y.uses(leaf, 1, 0)
		equal(t, "leaf", state(y, leaf), "failed/tokens")
		equal(t, "reason", y.run(leaf.Run.ID).Reason,
			"Run 1, by which it was delegated, was given a limit for all of that. It used 1001 tokens of at most 1000")
	})
	t.Run("a grandchild is given no more than the root has left", func(t *testing.T) {
		y, root, mid, _ := tree(t)
		y.uses(root, 950, 1.5)
		y.Forward(190 * time.Second)
		d := y.delegate(y.actor(mid), task.Delegation{})
		l := y.run(d.RunID).Limits
		equal(t, "tokens", l.MaxTokens, 50)
		equal(t, "cost", l.MaxCostUSD, 0.5)
		equal(t, "seconds", l.TimeoutSeconds, 10)
		y.uses(root, 50, 0)
		y.refuses(y.actor(mid), task.Delegation{}, task.CodeInvalidField, "limits.maxTokens", "run 1 has no tokens left to give: 1000 of 1000")
	})
}
