package service

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// focusedPrompt is what a delegated run is asked in place of the work prompt.
const focusedPrompt = "You work for %s, who gave you this one task and waits for the result. You start with a context of your own: " +
	"you know of the rest of the work only what is written here.\n\n" +
	"- Do this task and nothing beyond it. Do not ask back for what you can find out.\n" +
	"- %s\n" +
	"- Your tools: %s. Others are refused.\n" +
	"- If something stops you, say what failed and why; that is a result too.\n" +
	"- End with your result in 2 or 3 sentences: what you found or did, the files you changed, what is left or blocked. " +
	"%s reads only that, at most about 2,000 tokens of it, not what you say before."

// DelegationGuide explains to an agent that may delegate when and how to do it.
const DelegationGuide = `You may delegate with the tool task.

- Delegate what would fill your context with what you do not need afterwards, what suits another agent or a cheaper model better,
  or several things that do not depend on each other. Do small and closely connected work yourself.
- The agent works in your files and knows nothing else of yours. Say in the request what is wanted, the files and facts that it
  needs, what it must leave alone, and what to answer with.
- You get its result in a few sentences; task_status with transcript_after 0 reads how it came to it. The same request again
  joins the one that is open.

Two requests:
task {"agent_type":"code-focused","task":"Refactor the authentication module in auth.go to use the new token system of token.go.
  Change no other file. Answer with the functions that changed and what their callers must do."}
task {"estimated_complexity":"low","task":"Read the tests below internal. Answer with the packages that test no failure,
  one per line. Change nothing."}`

// Bounds of the agents that a prompt names.
const (
	shownHelpers = 15
	helperText   = 160 // bytes of a description
)

// delegation tells an agent that may delegate to whom.
func (w *partWriter) delegation(helpers []task.Agent) {
	if len(helpers) == 0 {
		return
	}
	w.WriteString("\n\n" + DelegationGuide + "\n")
	lines := make([]string, 0, shownHelpers+1)
	for i, a := range helpers {
		if i == shownHelpers {
			lines = append(lines, fmt.Sprintf("and %d more: task with agent_type list names them", len(helpers)-i))
			break
		}
		line := a.ID + ": " + task.ClipText(inLine(a.Description), helperText) + " (" + strings.Join(a.Tools, ", ") + ")"
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
	rest := *tk
	rest.Description = ""
	w.task(&rest, r)
	w.WriteString("\n\n")
	giver := authorLabel(tk.CreatedBy)
	fmt.Fprintf(w, focusedPrompt, giver, workplace(spec), toolList(spec.Tools), giver)
}

// workplace tells a delegated run whose files it finds.
func workplace(spec task.Spec) string {
	switch {
	case spec.SharedRun == 0:
		return "Your working folder is your own: the files of others are not there unless the task says where."
	case !spec.SharedFolder():
		return "Your working folder has the files as they were when you began. What you change is merged back when you are done."
	case spec.ReadOnly:
		return "You work in the same folder: read its files, and change none."
	}
	return "You work in the same folder: change its files where they are, and no others than the task needs."
}
