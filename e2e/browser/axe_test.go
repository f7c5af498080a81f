package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"taskyard/internal/testkit"
)

// judge runs axe on the page and lists each violation with its first elements.
const judge = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
	v.id + ": " + v.help + "\n    " + v.nodes.slice(0, 4).map(n => n.target.join(" ") + "  " + n.html.slice(0, 140) + "  " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? "")).join("\n    ")).join("\n"))`

// tooSmall lists interactive elements that are smaller than 24 px in one direction. A
// label belongs to its input, and an area drawn by ::after to its element. Links
// in a line of text may be as high as the line.
const tooSmall = `[...document.querySelectorAll("a[href], button, summary, select, input:not([type=hidden])")].filter(e => {
	if (!e.checkVisibility({visibilityProperty: true}) || !e.getClientRects().length || e.matches("a.skip") || e.localName === "a" && getComputedStyle(e).display === "inline") return false;
	const after = getComputedStyle(e, "::after"), drawn = after.content !== "none" && after.position === "absolute";
	const r = (drawn && getComputedStyle(e).position === "static" ? e.offsetParent : e.closest("label") ?? e).getBoundingClientRect();
	const more = drawn ? -2 * Math.min(0, parseFloat(after.top) || 0) : 0;
	return r.width > 1 && (r.width + more < 23.5 || r.height + more < 23.5);
}).map(e => e.outerHTML.slice(0, 140) + " " + JSON.stringify(e.getBoundingClientRect()).slice(0, 80)).join("\n")`

// sideways reports by how much the document is wider than the window, and which
// elements overflow.
const sideways = `(() => { const d = document.documentElement; if (d.scrollWidth <= d.clientWidth) return "";
	return d.scrollWidth + " of " + d.clientWidth + ": " + [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > d.clientWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\n"); })()`

// withAxe loads axe in every page of the tab. It is injected through the protocol, so
// that the content security policy of the pages is unchanged.
func withAxe(b *tab) *tab {
	b.t.Helper()
	src, err := os.ReadFile("../../static/vendor-test/axe.min.js")
	ok(b.t, err)
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(src)})
	ok(b.t, err)
	return b
}

func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	parts := 2 // of the pages, examined in parallel
	if testkit.Whole() {
		parts = 4
	}
	for part := range parts {
		t.Run(fmt.Sprintf("part %d", part+1), func(t *testing.T) {
			t.Parallel()
			s := newSample(t)
			b := withAxe(s.tab())
			b.expect("404")
			for i, p := range testkit.Sample(8, only(s.pages())) {
				if i%parts == part {
					examine(t, b, p, seen(i/parts+part))
				}
			}
		})
	}
}

func TestPausedAndSignedOutPagesAreAccessible(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := withAxe(s.tab())
	ok(t, s.pause())
	for i, p := range testkit.Sample(5, only(s.pausedPages())) {
		examine(t, b, p, seen(i))
	}
	i := 0
	also := func(b *tab, name, path string) {
		t.Helper()
		if testkit.Whole() || i%3 == 0 {
			examine(t, b, shown{name, path, nil}, seen(i))
		}
		i++
	}
	lone := withAxe(newTab(t, s.url))
	also(lone, "login", "/login")
	also(lone, "api-outside", "/api/docs")
	also(lone, "docs-outside", "/docs")
	empty := openInstance(t, nil)
	bare := withAxe(newTab(t, empty.url))
	also(bare, "setup", "/setup?token="+must(empty.svc.SetupLink(ctx)))
	nothing := withAxe(newEmpty(t))
	also(nothing, "queues-without-agents", "/queues")
	also(nothing, "inbox-without-agents", "/")
	also(nothing, "approvals-empty", "/approvals")
}

// look is one way to view a page.
type look struct {
	theme string
	width int64
}

var looks = []look{{"light", 1280}, {"dark", 390}, {"dark", 1280}, {"light", 390}}

// looks returns the looks for the page of an index: one, a different one from page to
// page, or all of them in the thorough form.
func seen(i int) []look {
	if testkit.Thorough() {
		return looks
	}
	i %= len(looks)
	return looks[i : i+1]
}

// newEmpty opens an empty instance.
func newEmpty(t *testing.T) *tab {
	t.Helper()
	return newInstanceWith(t, nil).tab()
}

// examine checks one page.
func examine(t *testing.T, b *tab, p shown, looks []look) {
	t.Helper()
	b.size(1280, 900)
	p.visit(b)
	for _, l := range looks {
		b.size(l.width, 900)
		b.theme(l.theme)
		if v := eval[string](b, judge); v != "" {
			t.Errorf("%s, %s, %d px: %s", p.name, l.theme, l.width, v)
		}
		if v := eval[string](b, tooSmall); v != "" {
			t.Errorf("%s, %d px: smaller than 24 px:\n%s", p.name, l.width, v)
		}
	}
	b.size(320, 700)
	if v := eval[string](b, sideways); v != "" {
		t.Errorf("%s: scrolls sideways at 320 px: %s", p.name, strings.TrimSpace(v))
	}
}

func TestButtonsAreReadableUnderTheMouse(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	b := withAxe(s.tab())
	b.size(1280, 900)
	for page, buttons := range map[string][]string{
		"/queues":                           {".bar .btn.primary"},
		"/approvals/" + s.approval.String(): {".btn.success", "[data-reject]", ".btn.ghost"},
	} {
		b.open(page)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			for _, what := range buttons {
				b.do(mouse(input.DispatchMouseEventTypeMouseMoved, b.spot(what)))
				b.wait(`document.querySelector(` + quote(what) + `).matches(":hover")`)
				if v := eval[string](b, judge); v != "" {
					t.Errorf("%s, %s, with the mouse on %s: %s", page, theme, what, v)
				}
			}
		}
	}
}
