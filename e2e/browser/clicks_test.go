package browser

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// submitters lists the buttons of the page that send something: address and label,
// without numbers.
const submitters = `(() => { const list = [];
	for (const b of document.querySelectorAll("form[method=post] button:not([type=button]):not([type=reset]), button[form][formaction]")) {
		if (b.closest("[hidden], dialog:not([open])")) continue;
		const to = (b.getAttribute("formaction") || b.form.getAttribute("action")) + " " + (b.name ? b.name + " " : "") + (b.getAttribute("aria-label") || b.textContent);
		list.push(to.replace(/\d+/g, "N").replace(/\s+/g, " ").trim());
	}
	return [...new Set(list)]; })()`

// prepare fills in the form of a button in submitters, opens what hides it, and
// returns its position; X is negative if it cannot be reached with the mouse.
const prepare = `(async what => {
	const of = b => ((b.getAttribute("formaction") || b.form.getAttribute("action")) + " " + (b.name ? b.name + " " : "") + (b.getAttribute("aria-label") || b.textContent)).replace(/\d+/g, "N").replace(/\s+/g, " ").trim();
	const b = [...document.querySelectorAll("form[method=post] button:not([type=button]):not([type=reset]), button[form][formaction]")].find(b => !b.closest("[hidden], dialog:not([open])") && of(b) === what);
	if (!b) return {Gone: true};
	for (let d = b.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
	for (const f of b.form.elements) {
		if (f.type === "hidden" || f.type === "checkbox" || f.type === "radio" || f.value || f.disabled) continue;
		if (f.localName === "select") { if (f.required) f.value = [...f.options].at(-1).value; }
		else if (f.type === "number") f.value = "3";
		else if (f.type === "password") f.value = "a long enough password";
		else if (/^(search|text|url|textarea)$/.test(f.type) && f.required) f.value = "something";
	}
	if (b.form.matches("#bulk")) document.querySelector("[data-pick]").click();
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	window.clicked = b;
	b.scrollIntoView({block: "center", behavior: "instant"});
	const r = b.getBoundingClientRect(), X = r.x + r.width / 2, Y = r.y + r.height / 2, top = document.elementFromPoint(X, Y);
	return top && b.contains(top) ? {X, Y} : {X: -1};
})`

// clickable returns pages that together have every button, or in the short form
// three pages with buttons of many kinds.
func (s *sample) clickable() []string {
	if !testkit.Whole() {
		return []string{path(s.limiter, ""), "/approvals/" + s.approval.String(), "/settings/tokens"}
	}
	return []string{
		"/", "/queues", "/tasks", "/views", path(s.limiter, ""), path(s.ship, ""), path(s.question, ""), path(s.failed, ""),
		path(s.lonely, ""), path(s.big, ""), path(s.waits, ""), "/tasks/new", path(s.lonely, "/move"), path(s.limiter, "/edit"),
		path(s.lonely, "/cancel"), path(s.ship, "/steps/3/edit"), "/tasks/bulk?act=cancel&id=" +
			s.lonely.String() + "&back=/tasks", "/approvals/" + s.approval.String(), "/approvals/" +
			s.running.String(), "/runs/" + s.running.String(), "/runs/" + s.broken.String(),
		"/agents", "/agents/coder", "/agents/coder/edit", "/agents/new", "/agents/coder/pause", "/scheduler", "/scheduler/pause",
		"/scheduler/stop-everything", "/settings", "/settings/people", "/settings/tokens",
	}
}

// ending are acts after which the tab is signed out.
var ending = []string{
	"/logout", "/settings/signout", "/settings/sessions/end", "/settings/password",
	"/settings/people/N/disable", "/settings/people/N/role",
}

func TestThreeClicksOfAnyButtonActOnce(t *testing.T) {
	t.Parallel()
	pressed := map[string]bool{}
	where := map[string]string{}
	for range 5 { // a button that an act removes still exists in another instance
		newSample(t).pressEach(t, pressed, where)
		if len(pressed) == len(where) {
			break
		}
	}
	t.Logf("%d of %d buttons pressed", len(pressed), len(where))
	for what := range where {
		if !pressed[what] {
			t.Errorf("%s could not be pressed", what)
		}
	}
}

// pressEach presses every button that was not pressed yet. where maps each button to
// its page; the first call fills it.
func (s *sample) pressEach(t *testing.T, pressed map[string]bool, where map[string]string) {
	t.Helper()
	tab := func() *tab {
		b := s.tab()
		b.expect("422", "409", "404", "ERR_ABORTED", "401") // an act that ends a session ends the streams of every tab
		return b
	}
	b := tab()
	if len(where) == 0 {
		for _, p := range s.clickable() {
			b.open(p)
			for _, what := range eval[[]string](b, submitters) {
				if where[what] == "" {
					where[what] = p
				}
			}
		}
		few := testkit.Sample(6, slices.Sorted(maps.Keys(where)))
		maps.DeleteFunc(where, func(what, _ string) bool { return !slices.Contains(few, what) })
	}
	var todo []string
	for what := range where {
		if !pressed[what] {
			todo = append(todo, what)
		}
	}
	pages := s.clickable()
	slices.SortFunc(todo, func(x, y string) int {
		return cmp.Or(rank(x)-rank(y), slices.Index(pages, where[x])-slices.Index(pages, where[y]), strings.Compare(x, y))
	})
	for _, what := range todo {
		if rank(what) > 1 {
			b = tab() // the previous act ended the session
		}
		if s.pressThrice(t, b, where[what], what) {
			pressed[what] = true
		}
	}
}

// shows reports whether a button only shows a preview.
func shows(what string) bool {
	return strings.HasSuffix(what, " preview Preview") || strings.HasPrefix(what, "/agents/new/check ")
}

func rank(what string) int {
	return 1 + slices.IndexFunc(ending, func(e string) bool { return strings.HasPrefix(what, e) })
}

// pressThrice presses a button three times at once. It returns false if an earlier act
// has removed the button.
func (s *sample) pressThrice(t *testing.T, b *tab, page, what string) bool {
	t.Helper()
	b.reach(page)
	if eval[bool](b, `!!document.querySelector("[data-live-pill]")`) {
		b.wait(`document.querySelector("[data-live-pill]").textContent === "Live" && !document.querySelector(".htmx-request")`)
	}
	at := eval[struct {
		X, Y float64
		Gone bool
	}](b, prepare+`(`+quote(what)+`)`)
	if at.Gone {
		return false
	}
	// An approval counts only for what has been visible for a while.
	b.wait(`!window.clicked?.form?.matches('form[action$="/approve"], form[action$="/allow"], form[data-bulk-approve]') || taskyard.seen('form[action="' + clicked.form.getAttribute("action") + '"]')`)
	last := must(s.svc.LastEvent(ctx))
	b.faults.sent()
	release := s.forms.hold() // no response arrives between the clicks, however busy the machine is
	if at.X > 0 {
		b.do(chromedp.Steps(clicks(spot{at.X, at.Y}, 3)...))
	} else {
		eval[chromedp.Void](b, `void [1, 2, 3].forEach(() => clicked.click())`)
	}
	sent := b.faults.anySent()
	release()
	b.wait(`document.readyState === "complete" && !document.querySelector(".htmx-request")`)
	b.rest(150)
	if len(sent) == 0 {
		t.Errorf("%s on %s: nothing was sent: %s", what, page,
			eval[string](b, `[...window.clicked?.form?.elements ?? []].filter(f => !f.checkValidity()).map(f => f.outerHTML.slice(0, 120)).join()`))
		return true
	}
	resent := b.faults.sent() // a refusal is shown by the target page of the form, which sends it once more
	if len(sent) != 1 || len(resent) > 1 {
		t.Errorf("%s on %s: sent %d times: %q, %q", what, page, len(sent)+len(resent), sent, resent)
	}
	seen := map[string]int{}
	for _, e := range must(s.svc.Events(ctx, s.maya, task.EventFilter{After: last, Limit: 200})) {
		if e.Actor == s.maya.Name {
			seen[fmt.Sprintf("%s of task %d, run %d, agent %s: %s", e.Kind, e.TaskID, e.RunID, e.Agent, e.Changes)]++
		}
	}
	if len(resent) > 0 && len(seen) > 0 {
		t.Errorf("%s on %s: sent again after success: %v", what, page, seen)
	}
	for e, n := range seen {
		if n > 1 || shows(what) {
			t.Errorf("%s on %s: got %d times %s", what, page, n, e)
		}
	}
	return true
}

// reach opens a page from one that may be about to navigate by itself, which cancels
// the navigation: it is then retried.
func (b *tab) reach(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		select {
		case <-b.arrived: // of the previous page
		default:
		}
		_, err := chromedp.Run(ctx, chromedp.Navigate(b.base+path))
		if err == nil {
			break
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "ERR_ABORTED") {
			b.fatalf("%s did not load: %v", path, err)
		}
	}
	b.wait(`document.readyState === "complete" && location.href === ` + quote(b.base+path))
}

// rest waits for some milliseconds, whether the page stays or navigates.
func (b *tab) rest(ms int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf("new Promise(done => setTimeout(() => done(true), %d))", ms),
			chromedp.EvalAwaitPromise))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			b.fatalf("no rest: %v", err)
		}
	}
}
