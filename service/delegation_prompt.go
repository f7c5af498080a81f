package service

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// focusedPrompt is what a delegated run is asked in place of the work prompt.
const focusedPrompt = "You work for %s, who gave you this one task and is waiting for the result. You start with a fresh context: " +
	"all you know about the rest of the work is written here.\n\n" +
	"- Do only this task. Do not ask about what you can find out yourself.\n" +
	"- %s\n" +
	"- Your tools: %s. All others are refused.\n" +
	"- If something stops you, say what failed and why; that is also a result.\n" +
	"- End with your result in 2 or 3 sentences: what you found or did, the files you changed, what is left or blocked. " +
	"%s reads only that, at most about 2,000 tokens, and nothing that you said before."

// DelegationGuide explains to an agent that may delegate when and how to do it.
const DelegationGuide = `You may delegate with the tool task.

- Delegate work that would fill your context with things you do not need later, that suits another agent or a cheaper model
  better, or that splits into independent parts. Do small and closely related work yourself.
- The agent works in your files but knows nothing else about your work. In the request, say what you want, which files and facts
  it needs, what it must not touch, and what to answer.
- You get its result in a few sentences; task_status with transcript_after 0 shows how it got there. If you repeat a request
  that is still open, you join it.

Two examples:
task {"agent_type":"code-focused","task":"Refactor the authentication module in auth.go to use the new token system of token.go.
  Change no other file. Answer with the functions that changed and what their callers have to do."}
task {"estimated_complexity":"low","task":"Read the tests in internal. Answer with the packages that do not test failures,
  one per line. Change nothing."}`

// Bounds of the agents that a prompt names.
const (
	shownHelpers = 15
	helperText   = 160 // bytes of a description
)

// delegation tells an agent to whom it may delegate.
func (w *partWriter) delegation(helpers []task.Agent) {
	if len(helpers) == 0 {
		return
	}
	w.WriteString("\n\n" + DelegationGuide + "\n")
	lines := make([]string, 0, shownHelpers+1)
	for i, a := range helpers {
		if i == shownHelpers {
			lines = append(lines, fmt.Sprintf("and %d more: call task with agent_type list", len(helpers)-i))
			break
		}
		line := a.ID + ": " + task.ClipText(onOneLine(a.Description), helperText) + " (" + strings.Join(a.Tools, ", ") + ")"
		if a.ID == task.DefaultDelegate {
			line += "; the default"
		}
		lines = append(lines, line)
	}
	w.part("agents", "their definitions", strings.Join(lines, "\n"))
}

// delegated puts the task that was given away first.
func (w *partWriter) delegated(tk *task.Task, r *task.Run, spec task.Spec) {
	heading, author, text := "task", writtenBy(tk, tk.TextBy), tk.Description
	if strings.TrimSpace(text) == "" {
		author, text = writtenBy(tk, tk.TitleBy), tk.Title
	}
	w.WriteString("# Your task\n\n")
	w.part(heading, author, text)
	w.WriteString("\n")
	withoutText := *tk
	withoutText.Description = ""
	w.task(&withoutText, r)
	w.WriteString("\n\n")
	giver := authorLabel(tk.CreatedBy)
	fmt.Fprintf(w, focusedPrompt, giver, workspaceText(spec), toolList(spec.Tools), giver)
}

// workspaceText tells a delegated run whose files it finds.
func workspaceText(spec task.Spec) string {
	switch {
	case spec.SharedRun == 0:
		return "Your workspace is private: you do not see the files of others, unless the task says where they are."
	case !spec.SharedFolder():
		return "Your workspace has the files as they were when you started. Your changes are merged back when you are done."
	case spec.ReadOnly:
		return "You share the workspace: read its files, but do not change any."
	}
	return "You share the workspace: change its files in place, and only those that the task needs."
}
