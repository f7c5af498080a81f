package service

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// review tells an agent what became of the last result of its task: failed
// checks, a failed merge, and the comments of reviewers.
func (w *partWriter) review(tk *task.Task) {
	r := tk.Review
	if r == nil {
		return
	}
	if r.Result != 0 {
		fmt.Fprintf(w, "last result: %d, %s\n", r.Result, strings.ReplaceAll(string(r.State), "_", " "))
	}
	if r.Merge != "" {
		w.part("its merge failed", "Taskyard, which may quote Git and programs", r.Merge)
	}
	for _, c := range r.FailedChecks {
		text := "$ " + c.Command + "\n" + verdictText(c)
		if c.Log != "" {
			text += "\n" + c.Log
		}
		w.part("required check "+inLine(c.Name), "the program that the check runs", text)
	}
	if len(r.Comments) == 0 {
		return
	}
	w.WriteString("open review comments (answer each with reply_review: fixed, or declined with a reason):\n")
	for _, c := range r.Comments {
		text := c.Text
		if c.Excerpt != "" {
			text = "> " + strings.ReplaceAll(strings.TrimRight(c.Excerpt, "\n"), "\n", "\n> ") + "\n" + text
		}
		w.part(fmt.Sprintf("review comment %d on %s", c.ID, inLine(commentPlace(c))), authorLabel(c.Author), text)
	}
}

// reviewTexts are the texts that review repeats.
func reviewTexts(tk *task.Task) []string {
	r := tk.Review
	if r == nil {
		return nil
	}
	texts := []string{r.Merge}
	for _, c := range r.FailedChecks {
		texts = append(texts, c.Command, c.Log, c.Reason)
	}
	for _, c := range r.Comments {
		texts = append(texts, c.Path, c.Excerpt, c.Text)
	}
	return texts
}
