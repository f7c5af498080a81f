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

// awaitSeen waits until the shown request has been visible long enough to be
// decided.
func (b *tab) awaitSeen() {
	b.t.Helper()
	if b.scripted {
		b.wait(`taskyard.seen("form[action$='/approve'], form[action$='/allow']")`)
	}
}

// holdKey holds a key down: the page gets n events, all of them repetitions, except
// the first if that is a press.
func holdKey(key rune, first bool, n int) chromedp.Action[chromedp.Void] {
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

// undecided counts the runs without a decision.
func (inst *instance) undecided(runs []*task.Run) (n int) {
	for _, r := range runs {
		if inst.decided(r.ID) == "" {
			n++
		}
	}
	return n
}

func TestAHeldKeyApprovesOnlyWhatIsShown(t *testing.T) {
	inst := newInstance(t)
	var runs []*task.Run
	for i := range 7 {
		runs = append(runs, inst.ask(inst.create(task.New{Title: fmt.Sprintf("Restart server %d", i), Owner: "keeper"}).ID))
	}
	b := inst.tab()
	b.open("/approvals")
	b.awaitSeen()
	b.loads(holdKey('a', true, 40))
	b.at("/approvals/" + runs[1].ID.String())
	b.do(holdKey('a', false, 40)) // it continues on the next page
	equal(t, "decided before the key was released", 7-inst.undecided(runs), 1)
	b.awaitSeen()
	b.loads(typed("a"))
	b.at("/approvals/" + runs[2].ID.String())
	equal(t, "decided after a press on a visible request", 7-inst.undecided(runs), 2)
}

func TestARequestThatJustCameIntoViewIsNotDecided(t *testing.T) {
	inst := newInstance(t)
	one, two := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID),
		inst.ask(inst.create(task.New{Title: "Rotate the keys", Owner: "keeper"}).ID)
	b := inst.tab()
	// As with a double click whose second half reaches the next page.
	b.preload(`addEventListener("DOMContentLoaded", () => { document.querySelector("#approve button")?.click(); document.querySelector("[data-bulk-approve] button")?.click(); })`)
	b.open("/approvals/" + one.ID.String())
	b.see("this request only just came into view")
	equal(t, "decided", 2-inst.undecided([]*task.Run{one, two}), 0)
	b.awaitSeen()
	b.press("#approve button")
	b.at("/approvals/" + two.ID.String())
	b.see("this request only just came into view")
	equal(t, "decided", 2-inst.undecided([]*task.Run{one, two}), 1)
	t.Run("a live part with another version starts over", func(t *testing.T) {
		b.awaitSeen()
		changed := eval[bool](b, `(() => { const f = document.querySelector("#approve"); f.querySelector("[name=version]").value = "other"; f.querySelector("button").click(); return taskyard.seen("#approve"); })()`)
		equal(t, "visible long enough", changed, false)
		equal(t, "decided", inst.decided(two.ID), "")
	})
}
