package agentfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/task"
)

// Check parses a text as Save would, and writes nothing.
func (f *Folder) Check(id, text string) task.Agent { return Parse(id, text, f.opt) }

const blank = `---
description: What this agent is for, in one sentence
%stools: [%s]
---
You are …

Say what to do, how to check it, and when to stop and ask.
`

// Templates returns what a new definition may begin with: a blank one, the
// default agents, and one for each configured runner.
func (f *Folder) Templates() []task.AgentTemplate {
	list := []task.AgentTemplate{{
		Key: "blank", Title: "Blank", About: "Description, tools and prompt, no more.",
		Text: fmt.Sprintf(blank, "", "read, list, grep, glob"),
	}}
	for _, id := range defaultNames() {
		text, err := defaults.ReadFile("defaults/" + id + ext)
		if err != nil {
			continue // embedded: never
		}
		a := Parse(id, string(text), Options{AnyRunner: true})
		list = append(list, task.AgentTemplate{Key: id, Title: a.Name, About: a.Description, ID: id, Text: string(text)})
	}
	for _, name := range slices.Sorted(maps.Keys(f.opt.Runners)) {
		list = append(list, runnerTemplate(name, f.opt.Runners[name]))
	}
	return list
}

// kindTemplates say what each kind of runner is, and which tools an agent
// under it begins with.
var kindTemplates = map[string]struct{ about, tools string }{
	"builtin": {"Taskyard's own loop over a model of a provider.", "read, list, grep, glob, create, edit"},
	"claude":  {"Claude Code executes its runs.", "read, list, grep, glob, create, edit, bash"},
	"codex":   {"Codex executes its runs.", "read, list, grep, glob, create, edit, bash"},
	"acp":     {"A program that speaks the Agent Client Protocol executes its runs.", "read, list, grep, glob, create, edit, bash"},
	"command": {"A program of yours executes its runs.", "read, list, grep, glob"},
	"webhook": {"A receiver that is called over HTTP executes its runs.", "read, list, grep, glob"},
	"worker":  {"Workers on other machines execute its runs.", "read, list, grep, glob, create, edit, bash"},
}

func runnerTemplate(name, kind string) task.AgentTemplate {
	k, ok := kindTemplates[kind]
	if !ok {
		k = kindTemplates["command"]
	}
	head := "runner: " + name + "\n"
	if strings.ContainsAny(name, ":#'\"{}[]&*!|>%@` ") {
		head = fmt.Sprintf("runner: %q\n", name)
	}
	return task.AgentTemplate{
		Key: "runner-" + name, Title: "Runner " + name, About: k.about,
		Text: fmt.Sprintf(blank, head+"timeout: 20m\n", k.tools),
	}
}
