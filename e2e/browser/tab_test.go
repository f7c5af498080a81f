package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/internal/testkit"
)

// patience is how long a page may take to show what a test waits for.
const patience = testkit.Timeout

// tab is one person's browser: its own cookies, one page.
type tab struct {
	t        testing.TB
	ctx      context.Context
	base     string
	faults   *faults
	arrived  chan struct{} // has a value when a page was loaded, or shown in place
	scripted bool          // JavaScript is on
}

func (b *tab) arrive(ev any) {
	switch ev := ev.(type) {
	case *page.EventLoadEventFired:
	case *runtime.EventBindingCalled:
		if ev.Name != arrivedBinding {
			return
		}
	default:
		return
	}
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// arrivedBinding is what reportArrival calls when a page shows another in place.
const (
	arrivedBinding = "tabArrived"
	reportArrival  = `document.addEventListener("taskyard:arrived", () => tabArrived(""));`
)

// reportArrivals makes pages that are shown in place report to the tab.
func (b *tab) reportArrivals() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, runtime.AddBinding, runtime.AddBindingParams{Name: arrivedBinding})
	ok(b.t, err)
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: reportArrival})
	ok(b.t, err)
}

// newTab opens a separate browser at base. The test fails on every fault that it did
// not expect.
func newTab(t testing.TB, base string) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(chrome.context(t), chromedp.WithNewBrowserContext())
	b := &tab{
		t: t, ctx: ctx, base: base, faults: &faults{urls: map[network.RequestID]string{}, posted: make(chan struct{}, 1)},
		arrived: make(chan struct{}, 1), scripted: true,
	}
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil { // without a timeout: the tab lives as long as this context
		t.Fatal(err)
	}
	ok(t, chromedp.Listen(ctx, b.faults.record))
	ok(t, chromedp.Listen(ctx, b.arrive))
	t.Cleanup(func() {
		for _, f := range b.faults.unexpected() {
			t.Errorf("the browser reports: %s", f)
		}
	})
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: reportViolations}); err != nil {
		t.Fatal(err)
	}
	b.reportArrivals()
	// Tests run in parallel: each treats its tab as the focused one.
	if _, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.size(1280, 900)
	return b
}

// expect names faults that belong to the test, by a part of their text.
func (b *tab) expect(parts ...string) {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	b.faults.expected = append(b.faults.expected, parts...)
}

// withoutScripts turns JavaScript off for all further pages.
func (b *tab) withoutScripts() *tab {
	b.t.Helper()
	b.scripted = false
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
	return b
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// do runs actions within the time that a page may take.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fatalf("%v", err)
	}
}

// fatalf ends the test and prints what the page shows.
func (b *tab) fatalf(format string, args ...any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	shown, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.title + "\n" + document.body.innerText.slice(0, 3000)`))
	b.t.Fatalf("%s\nfaults: %q\n%s", fmt.Sprintf(format, args...), b.faults.unexpected(), shown)
}

// open loads a page of the server.
func (b *tab) open(path string) {
	b.t.Helper()
	b.loads(chromedp.Navigate(b.base + path))
}

// loads does something that opens a page, and waits until that is loaded, or shown in
// place of the previous one.
func (b *tab) loads(a chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	select {
	case <-b.arrived: // of the previous page
	default:
	}
	if _, err := chromedp.Run(ctx, a); err != nil {
		b.fatalf("%v", err)
	}
	select {
	case <-b.arrived:
	case <-ctx.Done():
		b.fatalf("no page was loaded: %v", ctx.Err())
	}
}

// theme shows the page in a theme, and waits until it is drawn.
func (b *tab) theme(name string) {
	b.t.Helper()
	eval[chromedp.Void](b, `new Promise(done => { document.documentElement.dataset.theme = `+
		quote(name)+`; requestAnimationFrame(() => requestAnimationFrame(done)); })`)
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fatalf("%s: %v", js, err)
	}
	return v
}

// wait waits until an expression is true, across any number of pages. Without scripts,
// nothing changes by itself: it must be true immediately.
func (b *tab) wait(js string) {
	b.t.Helper()
	if !b.scripted {
		if !eval[bool](b, "!!("+js+")") {
			b.fatalf("not true: %s", js)
		}
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void]("!!("+js+")",
			chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "context") && !strings.Contains(err.Error(), "navigat") {
			b.fatalf("never true: %s: %v", js, err)
		}
	}
}

// live waits until the page receives changes from the server.
func (b *tab) live() {
	b.t.Helper()
	b.wait(`document.querySelector("[data-live-pill]")?.textContent === "Live"`)
}

// see waits until the page shows a text.
func (b *tab) see(text string) {
	b.t.Helper()
	b.wait(`document.body?.innerText.includes(` + quote(text) + `)`)
}

// seeNot checks that the page does not show a text now.
func (b *tab) seeNot(text string) {
	b.t.Helper()
	if eval[bool](b, `document.body.innerText.includes(`+quote(text)+`)`) {
		b.fatalf("the page shows %q", text)
	}
}

// gone waits until the page no longer shows a text.
func (b *tab) gone(text string) {
	b.t.Helper()
	b.wait(`!document.body?.innerText.includes(` + quote(text) + `)`)
}

// at waits until the path of the address is this.
func (b *tab) at(path string) {
	b.t.Helper()
	b.wait(`location.pathname === ` + quote(path))
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// find is the first visible element on the page that matches the selector and contains
// the text ("selector|text"; selector and text may each be given alone).
const find = `(what => {
	const [sel, text] = what.split("|");
	return [...document.querySelectorAll(sel)].find(e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length && (!text || e.textContent.includes(text) || e.getAttribute("aria-label")?.includes(text)));
})`

type spot struct{ X, Y float64 }

// spot waits for an element, scrolls it into view, and returns its center, which nothing
// may cover.
func (b *tab) spot(what string) spot {
	b.t.Helper()
	b.wait(find + `(` + quote(what) + `)`)
	p := eval[struct {
		X, Y float64
		Over string
	}](b, `(() => {
		const e = `+find+`(`+quote(what)+`);
		if (!e) return {Over: "gone"};
		e.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
		const r = e.getClientRects()[0], X = r.x + r.width / 2, Y = r.y + r.height / 2, top = document.elementFromPoint(X, Y);
		return {X, Y, Over: top && (e.contains(top) || top.contains(e)) ? "" : top ? top.outerHTML.slice(0, 200) : "outside"};
	})()`)
	if p.Over != "" {
		b.fatalf("%s cannot be clicked: %s", what, p.Over)
	}
	return spot{p.X, p.Y}
}

// click clicks an element.
func (b *tab) click(what string) {
	b.t.Helper()
	b.do(b.onto(what, once))
}

// press clicks an element that opens a page.
func (b *tab) press(what string) {
	b.t.Helper()
	b.loads(b.onto(what, once))
}

// fill replaces the value of a field.
func (b *tab) fill(what, text string) {
	b.t.Helper()
	b.click(what)
	eval[chromedp.Void](b, `document.activeElement.select?.()`)
	b.insert(text)
}

// insert types at the focus.
func (b *tab) insert(text string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		b.fatalf("%v", err)
	}
}

// keys presses keys, one after the other.
func (b *tab) keys(keys string) {
	b.t.Helper()
	b.do(typed(keys))
}

// typed presses and releases keys. Unlike chromedp.KeyEvent, it sends a key and its
// character as one event, so that a page that handles the key itself does not get the
// character too, as with a real keyboard.
func typed(keys string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			down, up := events[0], events[len(events)-1]
			if len(events) == 3 {
				down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			for _, e := range []*input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// choose picks an option of a select by its value, as the keyboard does.
func (b *tab) choose(sel, value string) {
	b.t.Helper()
	if !eval[bool](b, `(() => { const e = document.querySelector(`+quote(sel)+`); e.value = `+quote(value)+
		`; e.dispatchEvent(new Event("change", {bubbles: true})); return e.value === `+quote(value)+`; })()`) {
		b.fatalf("%s has no option %q", sel, value)
	}
}

// text returns the text of the first match.
func (b *tab) text(sel string) string {
	b.t.Helper()
	return eval[string](b, `document.querySelector(`+quote(sel)+`)?.innerText ?? ""`)
}

// value returns the value of a field.
func (b *tab) value(sel string) string {
	b.t.Helper()
	return eval[string](b, `document.querySelector(`+quote(sel)+`)?.value ?? ""`)
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// preload runs a script before those of every further page.
func (b *tab) preload(js string) *tab {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: js}); err != nil {
		b.t.Fatal(err)
	}
	return b
}
