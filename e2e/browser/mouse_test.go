package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// guard keeps mouse events from the page unless the first of them meets what
// the test aims at, and the first release of the button does. A live change
// may have moved that since it was measured, or since the button was pressed.
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

// onto does something with the mouse at the middle of a thing. If the thing
// has moved away meanwhile, the page hears nothing of it, and it is done again
// where the thing is then.
func (b *tab) onto(what string, does func(spot) chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for {
			p := b.spot(what)
			if b.scripted { // without scripts nothing moves
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

// missed reports whether the last use of the mouse met something else, and
// removes the guard. A page that has gone was met.
func (b *tab) missed() bool {
	if !b.scripted {
		return false
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(aim => { aim?.abort(); return !!aim?.missed; })(window.aim)`))
	return err == nil && missed
}

// once clicks a spot once.
func once(p spot) chromedp.Action[chromedp.Void] { return chromedp.MouseClickXY(p.X, p.Y) }

// times clicks a spot n times without waiting for what comes of it.
func times(n int) func(spot) chromedp.Action[chromedp.Void] {
	return func(p spot) chromedp.Action[chromedp.Void] { return chromedp.Steps(clicks(p, n)...) }
}

func TestAClickFollowsWhatALiveChangeMoves(t *testing.T) {
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

// A change that came between the press and the release of the button moved away
// what was pressed, and the click was lost.
func TestALiveChangeWaitsForTheReleaseOfTheButton(t *testing.T) {
	t.Parallel()
	inst, tk, b := commenting(t)
	tries := 0
	b.loads(b.onto("#comment-form button", func(p spot) chromedp.Action[chromedp.Void] {
		tries++
		// However long the answer takes on this machine, it comes within the 2 s of a press.
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

// commenting opens the page of a task with a comment typed, not sent yet.
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
