package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestAChildHasNoToolThatItsParentLacks(t *testing.T) {
	t.Parallel()
	inst := delegating(t, func(c *Config) { c.MaxParallel = 1 })
	_, _, root := inst.inRun("boss") // read, grep, edit, task
	inst.delegate(root, task.Delegation{AgentType: "lead"})
	st := inst.start()
	child := inst.actor(st)
	t.Run("its tools are those that both its definition and its parent have", func(t *testing.T) {
		equal(t, "tools", fmt.Sprint(st.Spec.Tools), "[read edit task]")
	})
	t.Run("a grandchild is bound by the child", func(t *testing.T) {
		inst.delegate(child, task.Delegation{AgentType: "hand"})
		grandchild := inst.start()
		equal(t, "tools", fmt.Sprint(grandchild.Spec.Tools), "[read]")
		inst.finish(grandchild, completed("ok"))
	})
	t.Run("it may request fewer tools", func(t *testing.T) {
		d := inst.delegate(child, task.Delegation{AgentType: "lead", Tools: []string{"edit"}})
		equal(t, "tools", fmt.Sprint(inst.start().Spec.Tools), "[edit]")
		must(inst.s.StopDelegated(inst.ctx(), child, d.RunID, ""))
	})
	t.Run("requesting more is refused with the tool's name", func(t *testing.T) {
		inst.wantRefused(child, task.Delegation{AgentType: "hand", Tools: []string{"read", "bash"}}, task.CodeInvalidField,
			"tools", "bash is wider than your own tools (read, edit, task)")
	})
	t.Run("requesting a tool that the agent lacks is refused", func(t *testing.T) {
		inst.wantRefused(child, task.Delegation{AgentType: "hand", Tools: []string{"edit"}}, task.CodeInvalidField, "hand does not have edit")
	})
	t.Run("a retry has the same tools", func(t *testing.T) {
		inst.finish(st, failure(task.PhaseCrash))
		inst.Forward(time.Hour)
		equal(t, "tools", fmt.Sprint(inst.start().Spec.Tools), "[read edit task]")
	})
}

func TestAChildsLimitsAreItsParentsRemainingLimits(t *testing.T) {
	t.Parallel()
	use := func(inst *instance, st *Start, in, out int, cost float64) {
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{
			{Type: "usage", Content: "", Data: fmt.Appendf(nil, `{"tokensIn":%d,"tokensOut":%d,"costUsd":%g}`, in, out, cost)},
		}))
	}
	t.Run("used time, tokens and cost are subtracted", func(t *testing.T) {
		inst := delegating(t)
		_, st, own := inst.inRun("boss") // 200 s, 1000 tokens, 2 USD
		inst.Forward(50 * time.Second)
		use(inst, st, 200, 50, 0.5)
		d := inst.delegate(own, task.Delegation{})
		equal(t, "limits", fmt.Sprintf("%+v", inst.run(d.RunID).Limits),
			fmt.Sprintf("%+v", task.Limits{TimeoutSeconds: 150, IdleTimeoutSeconds: 120, MaxTokens: 750, MaxCostUSD: 1.5}))
	})
	t.Run("usage of earlier children is subtracted", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{})
		f := completed("ok")
		f.Usage = task.Usage{TokensIn: 300, TokensOut: 100}
		inst.finish(inst.start(), f)
		equal(t, "tokens", inst.run(inst.delegate(own, task.Delegation{}).RunID).Limits.MaxTokens, 600)
	})
	t.Run("a run without remaining limits cannot delegate", func(t *testing.T) {
		inst := delegating(t)
		_, st, own := inst.inRun("boss")
		use(inst, st, 1000, 0, 0)
		inst.wantRefused(own, task.Delegation{}, task.CodeInvalidField, "limits.maxTokens", "1000 of 1000")
		inst.Forward(200 * time.Second)
		inst.wantRefused(own, task.Delegation{}, task.CodeInvalidField, "limits.timeoutSeconds", "no time left")
	})
	t.Run("requesting more is refused with the limit's name, less is granted", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.wantRefused(own, task.Delegation{Limits: task.Limits{MaxTokens: 1001, TimeoutSeconds: 201}}, task.CodeInvalidField,
			"limits.maxTokens", "at most 1000", "limits.timeoutSeconds", "at most 200")
		d := inst.delegate(own, task.Delegation{Limits: task.Limits{MaxTokens: 10, MaxTurns: 3}})
		st := inst.start()
		equal(t, "run", st.Run.ID, d.RunID)
		equal(t, "tokens", st.Spec.Limits.MaxTokens, 10)
		equal(t, "turns", st.Spec.Limits.MaxTurns, 3)
	})
	t.Run("without a run they are the instance's delegation limits", func(t *testing.T) {
		inst := delegating(t, tool(func(c *task.DelegationRules) { c.Timeout, c.MaxTokens = 77*time.Second, 123 }))
		l := inst.run(inst.delegate(maya, task.Delegation{}).RunID).Limits
		equal(t, "seconds", l.TimeoutSeconds, 77)
		equal(t, "tokens", l.MaxTokens, 123)
		equal(t, "the agent's own tokens", inst.run(inst.delegate(maya, task.Delegation{AgentType: "boss"}).RunID).Limits.MaxTokens, 123)
		equal(t, "the agent's own seconds", inst.run(inst.delegate(maya, task.Delegation{AgentType: "boss"}).RunID).Limits.TimeoutSeconds, 200)
	})
}

func TestTheModelOfADelegatedRun(t *testing.T) {
	t.Parallel()
	modelFor := func(inst *instance, a task.Actor, d task.Delegation) string {
		return inst.run(inst.delegate(a, d).RunID).Model
	}
	configured := tool(func(c *task.DelegationRules) { c.Models, c.DefaultModel = []string{"alpha", "beta"}, "alpha" })
	inst := delegating(t, configured)
	_, _, own := inst.inRun("boss")
	t.Run("the requested one", func(t *testing.T) {
		equal(t, "a provider's", modelFor(inst, own, task.Delegation{Model: "beta"}), "beta")
		equal(t, "one of the definition", modelFor(inst, own, task.Delegation{Model: "huge"}), "huge")
	})
	t.Run("else by complexity", func(t *testing.T) {
		equal(t, "model", modelFor(inst, own, task.Delegation{Complexity: "low"}), "small")
	})
	t.Run("else the agent's", func(t *testing.T) {
		equal(t, "model", modelFor(inst, own, task.Delegation{Complexity: "medium"}), "own")
	})
	t.Run("else the caller's", func(t *testing.T) { equal(t, "model", modelFor(inst, own, task.Delegation{AgentType: "lead"}), "big") })
	t.Run("another runner uses its own default, not the caller's", func(t *testing.T) {
		inst := delegating(t, configured, func(c *Config) {
			c.Runner = func(name string) Runner { return map[string]Runner{"other": {Model: "theirs"}}[name] }
		})
		inst.define("far", definition("tools: read", "runner: other"))
		_, _, own := inst.inRun("boss")
		equal(t, "model", modelFor(inst, own, task.Delegation{AgentType: "far"}), "theirs")
	})
	t.Run("else the provider's", func(t *testing.T) {
		equal(t, "model", modelFor(inst, maya, task.Delegation{AgentType: "lead"}), "alpha")
	})
	t.Run("the program gets the model", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{Model: "huge"})
		equal(t, "model", inst.start().Spec.Model, "huge")
	})
	t.Run("an unknown model is refused with the allowed ones", func(t *testing.T) {
		inst.wantRefused(own, task.Delegation{Model: "gamma"}, task.CodeInvalidField, "model", "gamma",
			"allowed are alpha, beta, big, huge, own, small")
	})
	t.Run("without provider lists, the models in definitions are allowed", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		equal(t, "model", modelFor(inst, own, task.Delegation{Model: "small"}), "small")
		inst.wantRefused(own, task.Delegation{Model: "gamma"}, task.CodeInvalidField, "allowed are big, huge, own, small")
		inst.wantRefused(maya, task.Delegation{AgentType: "lead", Model: "gamma"}, task.CodeInvalidField, "no model is configured")
	})
	t.Run("a provider without a list accepts any model", func(t *testing.T) {
		inst := delegating(t, tool(func(c *task.DelegationRules) { c.AnyModel = true }))
		equal(t, "model", modelFor(inst, maya, task.Delegation{Model: "gamma"}), "gamma")
	})
	t.Run("no model may be requested where that is not allowed", func(t *testing.T) {
		inst := delegating(t, tool(func(c *task.DelegationRules) { c.ModelOverride = false }))
		inst.wantRefused(maya, task.Delegation{Model: "own"}, task.CodeInvalidField, "model", "allow_model_override")
		equal(t, "model", modelFor(inst, maya, task.Delegation{Complexity: "high"}), "huge")
	})
}

func TestThePromptOfADelegatedRun(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	_, _, own := inst.inRun("boss")
	inst.delegate(own, task.Delegation{Task: "Find the cause of the crash.", AgentType: "lead"})
	prompt := inst.start().Spec.Prompt
	for _, words := range []string{
		" task, by agent boss]]\nFind the cause of the crash.\n[[", "<Task>",
		"created by: agent boss", "Your tools: read, edit, task.", "2 or 3 sentences",
	} {
		if !strings.Contains(prompt, words) {
			t.Errorf("the prompt does not contain %q:\n%s", words, prompt)
		}
	}
	equal(t, "occurrences of the task", strings.Count(prompt, "Find the cause of the crash."), 2) // including the title
}
