package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// comments returns the review comments of the task as maya sees them.
func (s *reviewSample) comments() []task.ReviewComment {
	s.t.Helper()
	return must(s.svc.ReviewComments(ctx, s.maya, s.id))
}

func TestReviewFromCommentsToAcceptance(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := s.tab()
	b.open(path(s.id, "/review"))
	file := `[data-file*="bucket.go"]`

	// A draft is stored while it is being typed, without a button.
	b.click(file + ` .plus[data-line="new 19"]`)
	b.wait(`document.activeElement?.id === "c-text"`)
	b.insert("What if the clock jumps back?")
	b.see("Draft saved")
	s.until("the draft is stored", func() bool { return len(s.comments()) == 1 })
	b.open(path(s.id, "/review"))
	b.wait(`document.querySelector('` + file + ` .thread.draft textarea')?.value === "What if the clock jumps back?"`)

	// A second one, for two lines, with its button.
	b.click(file + ` .plus[data-line="new 20"]`)
	b.wait(`document.activeElement?.id === "c-text"`)
	b.fill(`#c [name=endLine]`, "21")
	b.fill("#c-text", "Say which limit was hit.")
	b.click("#c .btn.primary")
	b.wait(`document.querySelectorAll('` + file + ` .thread.draft').length === 2`)
	b.see("Send 2 comments without a decision")
	equal(t, "last line", s.comments()[1].EndLine, 21)
	equal(t, "excerpt", s.comments()[1].Excerpt, "\tif b.tokens == 0 {\n\t\treturn false\n")

	// A viewed file is closed.
	b.click(file + ` [data-key=v]`)
	b.wait(`!document.querySelector('` + file + `').open && document.querySelector('` + file + ` summary .pill.ok')`)

	// Keys: files, comments, and the decision.
	b.keys("j")
	b.wait(`document.activeElement.matches("summary.title")`)
	b.keys("r")
	b.wait(`document.activeElement?.id === "changes-text"`)
	b.insert("Two things.")
	b.click("#changes-menu .btn.primary")
	b.see("Requested changes of result 1")
	s.until("the task is its owner's again", func() bool {
		return must(s.svc.Task(ctx, s.maya, s.id)).Awaits == ""
	})
	for _, c := range s.comments() {
		equal(t, "state", c.State, task.CommentOpen)
	}

	// The next result arrives while a person is reviewing; a line above moves the comments.
	s.handIn(s.id, "Fixed.", map[string]string{"limit/bucket.go": "// Package limit counts.\n" + bucket("\tb.refill(now)\n")})
	b.open(path(s.id, "/review"))
	b.see("You reviewed result 1")
	b.see("line 20")
	b.keys("n")
	b.wait(`document.activeElement.matches("[data-comment]")`)
	b.keys("a")
	b.wait(`document.activeElement.closest?.("#accept-menu") && document.activeElement.type === "submit"`)
	b.loads(typed("\r"))
	b.see("Accepted result 2")
	s.until("it is merged", func() bool { return must(s.svc.Result(ctx, s.maya, s.id, 2)).State == task.ResultMerged })
}

func TestAFileOfAReviewLoadsWhenItIsOpened(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := s.tab()
	b.open(path(s.id, "/review"))
	big := `[data-file*="big.txt"]`
	b.wait(`!document.querySelector('` + big + `').open && !document.querySelector('` + big + ` .difftable')`)
	b.click(big + " > summary")
	b.wait(`document.querySelectorAll('` + big + ` .difftable tr').length > 900`)
	b.click(`[data-file*="big.txt"] .plus[data-line="new 2"]`)
	b.wait(`document.activeElement?.id === "c-text"`)
	b.keys("\x1b")
	b.wait(`!document.querySelector("#c") && document.activeElement.matches(".plus")`)
	eval[chromedp.Void](b, `void document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true, cancelable: true}))`)
	equal(t, "line", eval[string](b, `document.activeElement.dataset.line`), "new 3")
}

func TestReviewWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := newTab(t, s.url).withoutScripts()
	b.open("/login")
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.open(path(s.id, "/review"))
	b.press(`[data-file*="bucket.go"] .plus[data-line="new 19"]`)
	b.fill("#c-text", "Why?")
	b.press("button|Save draft")
	b.see("Draft, only visible to you")
	b.open(path(s.id, "/review"))
	b.click("[data-reject]")
	b.press("#changes-menu .btn.primary")
	b.see("changes requested")
	equal(t, "state", s.comments()[0].State, task.CommentOpen)
}
