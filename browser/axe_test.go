package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// judge runs axe over the page and lists each violation with its first places.
const judge = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
	v.id + ": " + v.help + "\n    " + v.nodes.slice(0, 4).map(n => n.target.join(" ") + "  " + n.html.slice(0, 140) + "  " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? "")).join("\n    ")).join("\n"))`

// tooSmall lists what can be pressed and is smaller than 24 px either way. A
// label belongs to its input, and an area drawn by ::after to its element.
// Links in a line of text may be as high as the line.
const tooSmall = `[...document.querySelectorAll("a[href], button, summary, select, input:not([type=hidden])")].filter(e => {
	if (!e.checkVisibility({visibilityProperty: true}) || !e.getClientRects().length || e.matches("a.skip") || e.localName === "a" && getComputedStyle(e).display === "inline") return false;
	const after = getComputedStyle(e, "::after"), drawn = after.content !== "none" && after.position === "absolute";
	const r = (drawn && getComputedStyle(e).position === "static" ? e.offsetParent : e.closest("label") ?? e).getBoundingClientRect();
	const more = drawn ? -2 * Math.min(0, parseFloat(after.top) || 0) : 0;
	return r.width > 1 && (r.width + more < 23.5 || r.height + more < 23.5);
}).map(e => e.outerHTML.slice(0, 140) + " " + JSON.stringify(e.getBoundingClientRect()).slice(0, 80)).join("\n")`

// sideways tells by how much the document is wider than the window, and what
// stands out.
const sideways = `(() => { const d = document.documentElement; if (d.scrollWidth <= d.clientWidth) return "";
	return d.scrollWidth + " of " + d.clientWidth + ": " + [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > d.clientWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\n"); })()`

// withAxe has axe in every page of the tab. It comes by the protocol, so the
// policy of the pages stays as it is.
func withAxe(b *tab) *tab {
	b.t.Helper()
	src, err := os.ReadFile("../static/vendor-test/axe.min.js")
	must(b.t, err)
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(src)})
	must(b.t, err)
	return b
}

func TestEveryPageIsAccessible(t *testing.T) {
	s := newSample(t)
	b := withAxe(s.tab())
	b.expect("404")
	for _, p := range only(s.pages()) {
		examine(t, b, p)
	}
	must(t, s.pause())
	for _, p := range only(s.pausedPages()) {
		examine(t, b, p)
	}
	lone := withAxe(newTab(t, s.url))
	examine(t, lone, shown{"login", "/login", nil})
	examine(t, lone, shown{"api-outside", "/api/docs", nil})
	empty := openYard(t, nil)
	bare := withAxe(newTab(t, empty.url))
	examine(t, bare, shown{"setup", "/setup?token=" + some[string](t)(empty.svc.SetupLink(ctx)), nil})
	examine(t, withAxe(newEmpty(t)), shown{"queues-without-agents", "/queues", nil})
	examine(t, withAxe(newEmpty(t)), shown{"inbox-without-agents", "/", nil})
	examine(t, withAxe(newEmpty(t)), shown{"approvals-empty", "/approvals", nil})
}

// newEmpty opens a yard in which there is nothing yet.
func newEmpty(t *testing.T) *tab {
	t.Helper()
	return newYardOf(t, nil).tab()
}

// examine looks at one page in both themes, wide and narrow.
func examine(t *testing.T, b *tab, p shown) {
	t.Helper()
	b.size(1280, 900)
	p.visit(b)
	for _, width := range []int64{1280, 390} {
		b.size(width, 900)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			if v := eval[string](b, judge); v != "" {
				t.Errorf("%s, %s, %d px: %s", p.name, theme, width, v)
			}
		}
		if v := eval[string](b, tooSmall); v != "" {
			t.Errorf("%s, %d px: smaller than 24 px:\n%s", p.name, width, v)
		}
	}
	b.size(320, 700)
	if v := eval[string](b, sideways); v != "" {
		t.Errorf("%s: scrolls sideways at 320 px: %s", p.name, strings.TrimSpace(v))
	}
}
