package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestThePromptExplainsDelegation(t *testing.T) {
	t.Parallel()
	const explanation = "You may delegate with the tool task."
	inst := delegating(t)
	inst.define("invalid", "no definition")
	_, boss, own := inst.inRun("boss")
	prompt := boss.Spec.Prompt
	for _, want := range []string{
		explanation, "In the request, say what you want", `"task":"Refactor the authentication module in auth.go`, `"estimated_complexity":"low"`,
		" agents, by their definitions]]\n", "\nhand: ", "\nlead: ", " (read, bash)\n",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not contain %q:\n%s", want, prompt)
		}
	}
	for _, other := range []string{"\npull: ", "\ninvalid: ", "\nbad: "} {
		if strings.Contains(prompt, other) {
			t.Errorf("the prompt names an agent that cannot be started, %q:\n%s", other, prompt)
		}
	}
	inst.delegate(own, task.Delegation{AgentType: "lead"})
	first := inst.start()
	equal(t, "in the prompt of a child that may delegate", strings.Contains(first.Spec.Prompt, explanation), true)
	inst.delegate(inst.actor(first), task.Delegation{AgentType: "lead"})
	equal(t, "in the prompt at the greatest depth", strings.Contains(inst.start().Spec.Prompt, explanation), false)
	inst.delegate(own, task.Delegation{AgentType: "hand"})
	equal(t, "in the prompt without the tool", strings.Contains(inst.start().Spec.Prompt, explanation), false)

	off := delegating(t, tool(func(c *task.DelegationRules) { c.Enabled = false }))
	_, boss, _ = off.inRun("boss")
	equal(t, "in the prompt with delegation disabled", strings.Contains(boss.Spec.Prompt, explanation), false)
}
