package browser

import "testing"

func TestADraftThatADecisionSendsLeavesNoForm(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := s.tab()
	b.open(path(s.id, "/review"))
	b.click(`[data-file*="bucket.go"] .plus[data-line="new 19"]`)
	b.wait(`document.activeElement?.id === "c-text"`)
	b.insert("What if the clock jumps back?")
	b.see("Draft saved")
	b.click("[data-approve]")
	b.press("button|Accept result 1")
	b.see("Accepted result 1")
	equal(t, "forms", eval[int](b, `[...document.querySelectorAll("form[data-autosave] textarea")].filter(f => f.value).length`), 0)
	equal(t, "comments", len(s.comments()), 1)
}

func TestWhenATaskIsClosedItsReviewOffersNoComments(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := s.tab()
	b.open(path(s.id, "/review"))
	b.live()
	offers := `[...document.querySelectorAll(".plus, [data-file-comment], #comment-result")].some(e => e.checkVisibility())`
	b.wait(offers)
	must(s.svc.CancelTask(ctx, s.maya, s.id, "Not wanted."))
	b.wait("!" + offers)
}
