package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// guard keeps mouse events from the page unless the first of them, and the first
// release of the button, hit the target of the test. A live change may have moved it
// since it was measured, or since the button was pressed.
const guard = `(what => {
	window.aim?.abort();
	const aim = window.aim = new AbortController();
	const on = e => {
		const first = aim.missed === undefined, release = e.type === "mouseup" && !aim.released;
		if (release) aim.released = true;
		if (first || release && !aim.missed) {
			const wanted = ` + find + `(what), r = wanted?.getClientRects()[0];
			aim.missed = !(r && (wanted.contains(e.target) || e.target.contains(wanted)) &&
				e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom);
		}
		if (aim.missed) { e.preventDefault(); e.stopImmediatePropagation(); }
	};
	for (const name of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick"]) window.addEventListener(name, on, {capture: true, signal: aim.signal});
})`

// onto does something with the mouse at the center of an element. If the element has
// moved meanwhile, the page does not get the events, and they are repeated at the new
// position.
func (b *tab) onto(what string, does func(spot) chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for {
			p := b.spot(what)
			if b.scripted { // without scripts, nothing moves
				eval[chromedp.Void](b, guard+`(`+quote(what)+`)`)
			}
			if _, err := does(p)(ctx, t); err != nil {
				return err
			}
			if !b.missed() {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	})
}

// missed reports whether the last mouse events hit something else, and removes the
// guard. A page that was left counts as hit.
func (b *tab) missed() bool {
	if !b.scripted {
		return false
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(aim => { aim?.abort(); return !!aim?.missed; })(window.aim)`))
	return err == nil && missed
}

// once clicks a point once.
func once(p spot) chromedp.Action[chromedp.Void] { return chromedp.MouseClickXY(p.X, p.Y) }

// times clicks a point n times without waiting for the effect.
func times(n int) func(spot) chromedp.Action[chromedp.Void] {
	return func(p spot) chromedp.Action[chromedp.Void] { return chromedp.Steps(clicks(p, n)...) }
}

func TestAClickFollowsAMovedElement(t *testing.T) {
	t.Parallel()
	inst, tk, b := commenting(t)
	tries := 0
	b.loads(b.onto("#comment-form button", func(p spot) chromedp.Action[chromedp.Void] {
		if tries++; tries == 1 {
			must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Somebody else."))
			b.see("Somebody else.")
		}
		return once(p)
	}))
	b.wait(`document.querySelector("#feed")?.innerText.includes("Said.")`)
	equal(t, "clicks", tries, 2)
	equal(t, "comments", len(inst.task(tk.ID).Comments), 2)
}

// A change between the press and the release of the button used to move the pressed
// element away, and the click was lost.
func TestALiveChangeWaitsForTheReleaseOfTheButton(t *testing.T) {
	t.Parallel()
	inst, tk, b := commenting(t)
	tries := 0
	b.loads(b.onto("#comment-form button", func(p spot) chromedp.Action[chromedp.Void] {
		tries++
		// However long the response takes on this machine, it arrives within the 2 s of a press.
		eval[chromedp.Void](b, `void (() => { const now = Date.now(); Date.now = () => now; document.addEventListener("htmx:beforeSwap", () => { window.answered = true; }); })()`)
		b.do(mouse(input.DispatchMouseEventTypeMousePressed, p))
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Somebody else."))
		b.wait(`window.answered`)
		b.seeNot("Somebody else.")
		return mouse(input.DispatchMouseEventTypeMouseReleased, p)
	}))
	b.see("Somebody else.")
	b.wait(`document.querySelector("#feed")?.innerText.includes("Said.")`)
	equal(t, "clicks", tries, 1)
	equal(t, "comments", len(inst.task(tk.ID).Comments), 2)
}

// commenting opens the page of a task with a comment that is typed, but not sent.
func commenting(t *testing.T) (*instance, *task.Task, *tab) {
	t.Helper()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Moves"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	b.fill("#comment", "Said.")
	return inst, tk, b
}
