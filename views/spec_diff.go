package views

import (
	"cmp"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// newFolder says where a run works that no workspace is set for.
const newFolder = "a new folder for this run"

// specChange is one difference between two specs: a short value, or a text
// compared line by line.
type specChange struct {
	Name          string
	Before, After string
	Lines         []diffLine
}

// specChanges lists the differences of b from a.
func specChanges(a, b task.Spec) (list []specChange) {
	short := func(name, before, after string) {
		if before != after {
			list = append(list, specChange{Name: name, Before: before, After: after})
		}
	}
	text := func(name, before, after string) {
		if lines := compareLines(before, after); lines != nil {
			list = append(list, specChange{Name: name, Lines: lines})
		}
	}
	short("Agent", a.Agent, b.Agent)
	short("Definition", hash8(a.DefinitionHash), hash8(b.DefinitionHash))
	short("Runner", cmp.Or(a.Runner, "default"), cmp.Or(b.Runner, "default"))
	short("Model", cmp.Or(a.Model, "runner default"), cmp.Or(b.Model, "runner default"))
	short("Tools", cmp.Or(strings.Join(a.Tools, ", "), "none"), cmp.Or(strings.Join(b.Tools, ", "), "none"))
	short("Workspace", cmp.Or(a.Place(), newFolder), cmp.Or(b.Place(), newFolder))
	short("Task tools", cmp.Or(a.TaskTools, "few"), cmp.Or(b.TaskTools, "few"))
	short("Network", onOff(a.Network), onOff(b.Network))
	short("Environment", cmp.Or(strings.Join(a.Env, ", "), "nothing"), cmp.Or(strings.Join(b.Env, ", "), "nothing"))
	short("Continues", cmp.Or(runText(a.Continues), "nothing"), cmp.Or(runText(b.Continues), "nothing"))
	short("Depth", strconv.Itoa(a.Depth), strconv.Itoa(b.Depth))
	short("Time limit", ui.LimitSpan(a.Limits.TimeoutSeconds), ui.LimitSpan(b.Limits.TimeoutSeconds))
	short("Idle limit", ui.LimitSpan(a.Limits.IdleTimeoutSeconds), ui.LimitSpan(b.Limits.IdleTimeoutSeconds))
	short("Token limit", ui.LimitCount(a.Limits.MaxTokens), ui.LimitCount(b.Limits.MaxTokens))
	short("Turn limit", ui.LimitCount(a.Limits.MaxTurns), ui.LimitCount(b.Limits.MaxTurns))
	short("Cost limit", limitMoney(a.Limits.MaxCostUSD), limitMoney(b.Limits.MaxCostUSD))
	if a.Boundary != "" { // it is random in each prompt
		a.Prompt = strings.ReplaceAll(a.Prompt, a.Boundary, b.Boundary)
	}
	text("Prompt", a.Prompt, b.Prompt)
	text("System prompt", a.SystemPrompt, b.SystemPrompt)
	return list
}

func runText(id task.ID) string {
	if id == 0 {
		return ""
	}
	return "run " + id.String()
}
