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
	press, release := input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased
	nothing := chromedp.Steps()
	tests := []struct {
		name          string
		before, after func(p spot) chromedp.Action[chromedp.Void] // the change
	}{
		{"before the button is pressed", func(spot) chromedp.Action[chromedp.Void] { return nothing }, once},
		{
			"before it is released",
			func(p spot) chromedp.Action[chromedp.Void] { return mouse(press, p) },
			func(p spot) chromedp.Action[chromedp.Void] { return mouse(release, p) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y := newInstance(t)
			tk := y.create(task.New{Title: "Moves"})
			b := y.tab()
			b.open(path(tk.ID, ""))
			b.wait(`document.querySelector("[data-live-pill]")?.textContent === "Live"`)
			b.fill("#comment", "Said.")
			tries := 0
			b.loads(b.onto("#comment-form button", func(p spot) chromedp.Action[chromedp.Void] {
				if tries++; tries > 1 {
					return once(p)
				}
				b.do(tt.before(p))
				must(y.svc.Comment(ctx, y.maya, tk.ID, "Somebody else."))
				b.see("Somebody else.")
				return tt.after(p)
			}))
			b.wait(`document.querySelector("#feed")?.innerText.includes("Said.")`)
			equal(t, "clicks", tries, 2)
			equal(t, "comments", len(y.task(tk.ID).Comments), 2)
		})
	}
}
