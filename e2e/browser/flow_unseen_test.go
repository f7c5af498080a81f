package browser

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

// looked waits until the request that is shown was in view for long enough to
// be decided on.
func (b *tab) looked() {
	b.t.Helper()
	if b.scripted {
		b.wait(`taskyard.seen("form[action$='/approve'], form[action$='/allow']")`)
	}
}

// held is a key that is held down: n times the page hears of it, and but for
// the first press, if that is one, each time as a repetition.
func held(key rune, first bool, n int) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		events := kb.Encode(key)
		down := events[0]
		down.Text, down.UnmodifiedText = string(key), string(key)
		for i := range n {
			again := i > 0 || !first
			down.AutoRepeat = &again
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *down); err != nil {
				return err
			}
		}
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *events[len(events)-1])
		return err
	})
}

// undecided counts the runs that nobody has decided on.
func (inst *instance) undecided(runs []*task.Run) (n int) {
	for _, r := range runs {
		if inst.decided(r.ID) == "" {
			n++
		}
	}
	return n
}

func TestAHeldKeyApprovesWhatIsShownAndNothingElse(t *testing.T) {
	inst := newInstance(t)
	var runs []*task.Run
	for i := range 7 {
		runs = append(runs, inst.ask(inst.create(task.New{Title: fmt.Sprintf("Restart server %d", i), Owner: "keeper"}).ID))
	}
	b := inst.tab()
	b.open("/approvals")
	b.looked()
	b.loads(held('a', true, 40))
	b.at("/approvals/" + runs[1].ID.String())
	b.do(held('a', false, 40)) // it continues on the next page
	equal(t, "decided before the key was let go", 7-inst.undecided(runs), 1)
	b.looked()
	b.loads(typed("a"))
	b.at("/approvals/" + runs[2].ID.String())
	equal(t, "decided after a press on a request that was in view", 7-inst.undecided(runs), 2)
}

func TestWhatJustCameIntoViewIsNotDecidedOn(t *testing.T) {
	inst := newInstance(t)
	one, two := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID),
		inst.ask(inst.create(task.New{Title: "Rotate the keys", Owner: "keeper"}).ID)
	b := inst.tab()
	// As a double click does whose second half meets the next page.
	b.preload(`addEventListener("DOMContentLoaded", () => { document.querySelector("#approve button")?.click(); document.querySelector("[data-bulk-approve] button")?.click(); })`)
	b.open("/approvals/" + one.ID.String())
	b.see("this request only just came into view")
	equal(t, "decided", 2-inst.undecided([]*task.Run{one, two}), 0)
	b.looked()
	b.press("#approve button")
	b.at("/approvals/" + two.ID.String())
	b.see("this request only just came into view")
	equal(t, "decided", 2-inst.undecided([]*task.Run{one, two}), 1)
	t.Run("a live part that shows another version starts over", func(t *testing.T) {
		b.looked()
		changed := eval[bool](b, `(() => { const f = document.querySelector("#approve"); f.querySelector("[name=version]").value = "other"; f.querySelector("button").click(); return taskyard.seen("#approve"); })()`)
		equal(t, "in view long enough", changed, false)
		equal(t, "decided", inst.decided(two.ID), "")
	})
}
