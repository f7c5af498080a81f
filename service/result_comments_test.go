package service

import (
	"fmt"
	"strings"
	"testing"

	"taskyard/task"
)

func TestAPromptContainsReviewComments(t *testing.T) {
	t.Parallel()
	inst, git := judged(t)
	tk := inst.inWeb("coder")
	submit := func() {
		t.Helper()
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "done "+git.head, 0))
	}
	comment := func(c task.ReviewComment) task.ReviewComment {
		t.Helper()
		return must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, c))
	}
	sendBack := func() {
		t.Helper()
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		must(inst.s.RequestChanges(inst.ctx(), rita, tk.ID, 0, r.Digest, "See the comments."))
	}
	submit()
	first := comment(task.ReviewComment{Path: "main.go", Line: 3, Text: "Name the authors."})
	sendBack()
	must(inst.s.ReplyReview(inst.ctx(), maya, tk.ID, first.ID, task.CommentFixed, "One is named."))
	must(inst.s.ReplyReview(inst.ctx(), rita, tk.ID, first.ID, task.CommentOpen, "There are two."))
	git.head = "other"
	submit()
	comment(task.ReviewComment{Path: "main.go", Line: 5, EndLine: 6, Side: "old", Text: "Why was this removed?"})
	comment(task.ReviewComment{Path: "main.go", Line: 7, Text: "Close it."})
	for i := range task.MaxReviewShown {
		comment(task.ReviewComment{Text: fmt.Sprintf("Remark %d.", i)})
	}
	sendBack()
	spec := inst.specNow(tk.ID)
	for heading, want := range map[string]string{
		"review comment 1 on main.go:3 in an earlier result": "Name the authors.",
		"review comment 2 on main.go:5-6 before the change":  "Why was this removed?",
		"review comment 3 on main.go:7":                      "Close it.",
		"review comment 30 on the whole result":              "Remark 26.",
	} {
		_, text := promptPart(t, spec, heading)
		equal(t, heading, text, want)
	}
	author, text := promptPart(t, spec, "answer to review comment 1")
	equal(t, "the first reply", author+": "+text, "person maya: One is named.")
	if !strings.Contains(spec.Prompt, "There are two.") {
		t.Error("the prompt does not say why the comment is open again")
	}
	if want := "3 more review comments are open: read the task again when you have answered these"; !strings.Contains(spec.Prompt, want) {
		t.Errorf("the prompt does not contain %q", want)
	}
	equal(t, "omitted comments", inst.task(tk.ID).Review.MoreComments, 3)
}

func TestACommentFollowsItsLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hunks string
		by    int
		ok    bool
	}{
		"nothing changed":                  {"", 0, true},
		"lines were added before":          {"@@ -2,0 +3,4 @@\n", 4, true},
		"lines were removed before":        {"@@ -2,3 +1,0 @@\n", -3, true},
		"a line before was changed":        {"@@ -9 +9 @@\n", 0, true},
		"lines were added directly before": {"@@ -9,0 +10 @@\n", 1, true},
		"lines were added between":         {"@@ -10,0 +11 @@\n", 0, false},
		"lines were added directly after":  {"@@ -12,0 +13 @@\n", 0, true},
		"the first was changed":            {"@@ -10 +10 @@\n", 0, false},
		"the last was removed":             {"@@ -12,2 +11,0 @@\n", 0, false},
		"lines after were changed":         {"@@ -13,2 +13,9 @@\n", 0, true},
		"several hunks, before and after":  {"@@ -1 +1,3 @@\n@@ -5,2 +7 @@\n@@ -20 +21 @@\n", 1, true},
		"the file cannot be compared":      {"?", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			by, ok := movedLine(tt.hunks, 10, 12)
			if by != tt.by || ok != tt.ok {
				t.Errorf("got move by %d, %v; want %d, %v", by, ok, tt.by, tt.ok)
			}
		})
	}
}

func TestTheTextsOfAReviewAreBounded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	long := strings.Repeat("x", task.MaxText)
	c := must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Name the author."}))
	must(inst.s.RequestChanges(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
	reply := func(a task.Actor) (n int, err error) {
		for ; n < 100 && err == nil; n++ {
			_, err = inst.s.ReplyReview(inst.ctx(), a, tk.ID, c.ID, "", long)
		}
		return n, err
	}
	n, err := reply(pull)
	refused(t, err, task.CodeInvalidField, "text", "of at most 2048 KiB; write a comment on the task instead")
	if n < 30 {
		t.Errorf("the agent wrote %d replies of 64 KiB, want at least 30", n)
	}
	must(inst.s.ReplyReview(inst.ctx(), maya, tk.ID, c.ID, task.CommentResolved, "An agent leaves room for people."))
	_, err = reply(maya)
	refused(t, err, task.CodeInvalidField, "text", "of at most 4096 KiB")
	_, err = inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "x", Excerpt: long})
	refused(t, err, task.CodeInvalidField, "text", "does not fit")
	draft := must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "x"}))
	refused(t, inst.s.EditDraft(inst.ctx(), rita, tk.ID, draft.ID, long), task.CodeInvalidField, "does not fit")
}
