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
	"%s reads that alone, at most about 2,000 tokens of it, not what you say before."

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
