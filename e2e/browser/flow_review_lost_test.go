package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

func TestAnUnsavedReviewCommentSurvivesAReload(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t)
	b := s.tab()
	open := func() {
		b.click(`[data-file*="bucket.go"] .plus[data-line="new 19"]`)
		b.wait(`document.activeElement?.id === "c-text"`)
	}
	b.open(path(s.id, "/review"))
	release := s.forms.hold()
	open()
	b.insert("What if the clock jumps back?")
	b.loads(chromedp.Reload())
	release()
	open()
	equal(t, "typed", b.value("#c-text"), "What if the clock jumps back?")
	b.insert(" Or stops?")
	b.see("Draft saved")
	equal(t, "drafts in the browser", b.drafts(), 0)

	release = s.forms.hold()
	b.insert(" Or both?")
	b.loads(chromedp.Reload())
	release()
	b.wait(`document.querySelector(".thread.draft textarea")?.value === "What if the clock jumps back? Or stops? Or both?"`)
	b.see("Not saved: you typed this before.")
	b.click(".thread.draft button|Save draft")
	s.until("it is stored", func() bool { return s.comments()[0].Text == "What if the clock jumps back? Or stops? Or both?" })
	b.wait(`!document.body.innerText.includes("Not saved")`)
	equal(t, "comments", len(s.comments()), 1)
}
