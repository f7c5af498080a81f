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
		w.part("required check "+onOneLine(c.Name), "the program that the check runs", text)
	}
	if len(r.Comments) == 0 {
		return
	}
	w.WriteString("open review comments (reply to each with reply_review: fixed, or declined with a reason):\n")
	for _, c := range r.Comments {
		text := c.Text
		if c.Excerpt != "" {
			text = "> " + strings.ReplaceAll(strings.TrimRight(c.Excerpt, "\n"), "\n", "\n> ") + "\n" + text
		}
		w.part(fmt.Sprintf("review comment %d on %s%s", c.ID, onOneLine(commentPlace(c)), countedIn(r, c)), authorLabel(c.Author), text)
		if c.MoreReplies > 0 {
			fmt.Fprintf(w, "%d earlier %s to it left out: GET /api/tasks/%d/review-comments has all\n",
				c.MoreReplies, plural(c.MoreReplies, "answer is", "answers are"), tk.ID)
		}
		for _, a := range c.Replies {
			if a.Text != "" {
				w.part(fmt.Sprintf("answer to review comment %d", c.ID), authorLabel(a.Author), a.Text)
			}
		}
	}
	if r.MoreComments > 0 {
		fmt.Fprintf(w, "%d more review %s open: read the task again when you have answered these\n",
			r.MoreComments, plural(r.MoreComments, "comment is", "comments are"))
	}
}

// countedIn says in what the lines of a comment are counted, "" for the files as
// the last result has them.
func countedIn(r *task.TaskReview, c task.ReviewComment) (text string) {
	if c.Line > 0 && c.Side == "old" {
		text = " before the change"
	}
	if c.Line > 0 && c.ResultID != r.ID {
		text += " in an earlier result"
	}
	return text
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
		for _, a := range c.Replies {
			texts = append(texts, a.Text)
		}
	}
	return texts
}
