package agentfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/task"
)

// Check parses a text as Save would, without writing it.
func (f *Folder) Check(id, text string) task.Agent { return Parse(id, text, *f.opt()) }

const blank = `---
description: What this agent is for, in one sentence
%stools: [%s]
---
You are …

Say what to do, how to check it, and when to stop and ask.
`

// readingTools are the tools in a template without others.
const readingTools = "read, list, grep, glob"

// Templates returns the templates for a new definition: a blank one, the
// default agents, and one per configured runner.
func (f *Folder) Templates() []task.AgentTemplate {
	list := []task.AgentTemplate{{
		Key: "blank", Title: "Blank", About: "Only a description, tools and a prompt.",
		Text: fmt.Sprintf(blank, "", readingTools),
	}}
	for _, id := range defaultNames() {
		text, err := defaults.ReadFile("defaults/" + id + ext)
		if err != nil {
			continue // embedded: never fails
		}
		a := Parse(id, string(text), Options{AnyRunner: true})
		list = append(list, task.AgentTemplate{Key: id, Title: a.Name, About: a.Description, ID: id, Text: string(text)})
	}
	runners := f.opt().Runners
	for _, name := range slices.Sorted(maps.Keys(runners)) {
		list = append(list, runnerTemplate(name, runners[name]))
	}
	return list
}

func runnerTemplate(name string, kind task.RunnerKind) task.AgentTemplate {
	head := "runner: " + name + "\n"
	if strings.ContainsAny(name, ":#'\"{}[]&*!|>%@` ") {
		head = fmt.Sprintf("runner: %q\n", name)
	}
	return task.AgentTemplate{
		Key: "runner-" + name, Title: "Runner " + name, About: kind.About,
		Text: fmt.Sprintf(blank, head+"timeout: 20m\n", cmp.Or(kind.Tools, readingTools)),
	}
}
