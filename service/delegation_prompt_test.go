package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestWhoMayDelegateIsToldHowAndToWhom(t *testing.T) {
	const told = "You may delegate with the tool task."
	inst := delegating(t)
	inst.define("invalid", "no definition")
	_, boss, own := inst.inRun("boss")
	prompt := boss.Spec.Prompt
	for _, want := range []string{
		told, "In the request, say what you want", `"task":"Refactor the authentication module in auth.go`, `"estimated_complexity":"low"`,
		" agents, by their definitions]]\n", "\nhand: ", "\nlead: ", " (read, bash)\n",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, prompt)
		}
	}
	for _, other := range []string{"\npull: ", "\ninvalid: ", "\nbad: "} {
		if strings.Contains(prompt, other) {
			t.Errorf("the prompt names an agent that cannot be started, %q:\n%s", other, prompt)
		}
	}
	inst.delegate(own, task.Delegation{AgentType: "lead"})
	first := inst.start()
	equal(t, "a child that may delegate is told", strings.Contains(first.Spec.Prompt, told), true)
	inst.delegate(inst.actor(first), task.Delegation{AgentType: "lead"})
	equal(t, "one at the greatest depth is told", strings.Contains(inst.start().Spec.Prompt, told), false)
	inst.delegate(own, task.Delegation{AgentType: "hand"})
	equal(t, "one without the tool is told", strings.Contains(inst.start().Spec.Prompt, told), false)

	off := delegating(t, tool(func(c *task.DelegationRules) { c.Enabled = false }))
	_, boss, _ = off.inRun("boss")
	equal(t, "one is told where delegation is off", strings.Contains(boss.Spec.Prompt, told), false)
}
