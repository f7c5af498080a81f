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

// submitters names the buttons of the page that send something: address and
// label, with numbers taken out.
const submitters = `(() => { const list = [];
	for (const b of document.querySelectorAll("form[method=post] button:not([type=button]):not([type=reset]), button[form][formaction]")) {
		if (b.closest("[hidden], dialog:not([open])")) continue;
		const to = (b.getAttribute("formaction") || b.form.getAttribute("action")) + " " + (b.name ? b.name + " " : "") + (b.getAttribute("aria-label") || b.textContent);
		list.push(to.replace(/\d+/g, "N").replace(/\s+/g, " ").trim());
	}
	return [...new Set(list)]; })()`

// prepare fills the form of a button of submitters, opens what hides it, and
// returns where it is; X is negative when it cannot be reached with the mouse.
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

// clickable are pages that together have every button, or in the short form
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

func TestThreeClicksOfAnyButtonAreOneAct(t *testing.T) {
	t.Parallel()
	pressed := map[string]bool{}
	where := map[string]string{}
	for range 5 { // what an act takes away, another instance still has
		newSample(t).thriceEach(t, pressed, where)
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

// thriceEach presses every button that was not pressed yet. where names the
// page of each button; it is filled by the first call.
func (s *sample) thriceEach(t *testing.T, pressed map[string]bool, where map[string]string) {
	t.Helper()
	tab := func() *tab {
		b := s.tab()
		b.expect("422", "409", "404", "ERR_ABORTED", "401") // what ends a session ends the streams of every tab
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
		few := testkit.Few(6, slices.Sorted(maps.Keys(where)))
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
			b = tab() // the act before this one has ended the session
		}
		if s.thrice(t, b, where[what], what) {
			pressed[what] = true
		}
	}
}

// shows reports whether a button only shows how something would be.
func shows(what string) bool {
	return strings.HasSuffix(what, " preview Preview") || strings.HasPrefix(what, "/agents/new/check ")
}

func rank(what string) int {
	return 1 + slices.IndexFunc(ending, func(e string) bool { return strings.HasPrefix(what, e) })
}

// thrice presses a button three times at once; false: an act before this one
// has taken the button away.
func (s *sample) thrice(t *testing.T, b *tab, page, what string) bool {
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
	// A yes counts only for what was in view for a while.
	b.wait(`!window.clicked?.form?.matches('form[action$="/approve"], form[action$="/allow"], form[data-bulk-approve]') || taskyard.seen('form[action="' + clicked.form.getAttribute("action") + '"]')`)
	last := must(s.svc.LastEvent(ctx))
	b.faults.sent()
	release := s.forms.hold() // no answer comes between the clicks, however busy the machine is
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
		t.Errorf("%s on %s: nothing is sent: %s", what, page,
			eval[string](b, `[...window.clicked?.form?.elements ?? []].filter(f => !f.checkValidity()).map(f => f.outerHTML.slice(0, 120)).join()`))
		return true
	}
	told := b.faults.sent() // a refusal is told by the page that the form leads to, which sends it once more
	if len(sent) != 1 || len(told) > 1 {
		t.Errorf("%s on %s: sent %d times: %q, %q", what, page, len(sent)+len(told), sent, told)
	}
	seen := map[string]int{}
	for _, e := range must(s.svc.Events(ctx, s.maya, task.EventFilter{After: last, Limit: 200})) {
		if e.Actor == s.maya.Name {
			seen[fmt.Sprintf("%s of task %d, run %d, agent %s: %s", e.Kind, e.TaskID, e.RunID, e.Agent, e.Changes)]++
		}
	}
	if len(told) > 0 && len(seen) > 0 {
		t.Errorf("%s on %s: done, and sent again: %v", what, page, seen)
	}
	for e, n := range seen {
		if n > 1 || shows(what) {
			t.Errorf("%s on %s: %d times %s", what, page, n, e)
		}
	}
	return true
}

// reach opens a page from one which may be about to lead to another by itself:
// that cuts the way off, which is tried again.
func (b *tab) reach(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		select {
		case <-b.arrived: // of the page before
		default:
		}
		_, err := chromedp.Run(ctx, chromedp.Navigate(b.base+path))
		if err == nil {
			break
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "ERR_ABORTED") {
			b.fatalf("%s did not come: %v", path, err)
		}
	}
	b.wait(`document.readyState === "complete" && location.href === ` + quote(b.base+path))
}

// rest lets a page be for some milliseconds, whether it stays or goes.
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
