package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// replaced refuses result 1 and submits result 2 while a person views result 1.
func (s *reviewSample) replaced() {
	s.t.Helper()
	r := must(s.svc.Result(ctx, s.maya, s.id, 1))
	must(s.svc.RequestChanges(ctx, s.maya, s.id, 1, r.Digest, "Not like this."))
	s.handIn(s.id, "Done otherwise.", map[string]string{
		"limit/bucket.go": bucket("\tb.drain(now)\n"), "limit/big.txt": "one other line\n",
	})
}

// openReview opens the review of a sample, and waits until it is live.
func openReview(t *testing.T) (*reviewSample, *tab) {
	t.Helper()
	s := newReviewSample(t)
	b := s.tab()
	b.open(path(s.id, "/review"))
	b.live()
	return s, b
}

func TestAReviewStaysWithTheResultThatIsShown(t *testing.T) {
	t.Parallel()
	file := `[data-file*="bucket.go"]`
	t.Run("marking a file as viewed shows no button for an unseen result", func(t *testing.T) {
		t.Parallel()
		s, b := openReview(t)
		s.replaced()
		b.wait(`!document.querySelector("#accept-menu")`)
		b.click(file + ` [data-key=v]`)
		b.wait(`performance.getEntriesByType("resource").filter(e => e.initiatorType === "fetch" && e.name.includes("/review")).length >= 3`)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 200))`)
		b.seeNot("Accept result 2")
		equal(t, "decisions", eval[int](b, `document.querySelectorAll("#accept-menu, #changes-menu").length`), 0)
		equal(t, "lines of the file", eval[bool](b, `document.querySelector('`+file+`').textContent.includes("b.refill")`), true)
	})
	t.Run("a file that is opened later shows the lines of that result", func(t *testing.T) {
		t.Parallel()
		s, b := openReview(t)
		s.replaced()
		b.wait(`!document.querySelector("#accept-menu")`)
		b.click(`[data-file*="big.txt"] > summary`)
		b.wait(`document.querySelector('[data-file*="big.txt"] .difftable')`)
		equal(t, "lines", eval[bool](b, `document.querySelector('[data-file*="big.txt"]').textContent.includes("a line of a big file")`), true)
	})
	t.Run("a comment on a line of it moves with the line to the next result", func(t *testing.T) {
		t.Parallel()
		s, b := openReview(t)
		b.click(file + ` .plus[data-line="new 20"]`)
		b.wait(`document.activeElement?.id === "c-text"`)
		s.replaced()
		b.wait(`!document.querySelector("#accept-menu")`)
		b.insert("And if the clock jumps back?")
		b.see("Draft saved")
		list := s.comments()
		equal(t, "result", list[0].ResultID, must(s.svc.Result(ctx, s.maya, s.id, 1)).ID)
		equal(t, "excerpt", list[0].Excerpt, "\tif b.tokens == 0 {\n")
		b.click("#c .btn.primary")
		b.see("Result 2")
		b.wait(`document.querySelector('` + file + ` .thread.draft textarea')?.value === "And if the clock jumps back?"`)
	})
}
