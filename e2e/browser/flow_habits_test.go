package browser

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestTheThemeStaysAfterAReload(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/queues")
	b.click(".side [data-theme-toggle]")
	equal(t, "theme", eval[string](b, `document.documentElement.dataset.theme`), "dark")
	b.loads(chromedp.Reload())
	equal(t, "theme", eval[string](b, `document.documentElement.dataset.theme`), "dark")
	equal(t, "scheme", eval[string](b, `getComputedStyle(document.documentElement).colorScheme`), "dark")
}

func TestManyClicksActOnce(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/tasks/new")
	b.fill("#title", "Once only")
	b.choose("#owner", "scout")
	b.loads(b.onto("button|Create task", times(3)))
	b.see("Once only")
	equal(t, "tasks", len(inst.open()), 1)
	tk := inst.open()[0]
	b.open(path(tk.ID, ""))
	b.fill("#comment", "Said once.")
	b.loads(b.onto("#comment-form button", times(2)))
	b.see("Said once.")
	equal(t, "comments", len(inst.task(tk.ID).Comments), 1)
}

// clicks presses and releases the button n times without waiting for the
// effect.
func clicks(p spot, n int) []chromedp.Action[chromedp.Void] {
	var list []chromedp.Action[chromedp.Void]
	for i := range n {
		count := chromedp.ClickCount(i + 1)
		list = append(list, chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, p.X, p.Y, chromedp.ButtonLeft, count),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, p.X, p.Y, chromedp.ButtonLeft, count))
	}
	return list
}

func TestBackAndForwardAfterAnActShowWholePages(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Here and back", Owner: "scout"})
	b := inst.tab()
	b.open("/queues")
	b.press("#t-" + tk.ID.String() + " a.title, #t-" + tk.ID.String() + " .title a")
	b.at(path(tk.ID, ""))
	b.press("a|Move")
	b.choose("#to", "coder")
	b.fill("#comment", "Continue.")
	b.press("button|Move")
	b.at(path(tk.ID, ""))
	for _, step := range []struct {
		chord string
		path  string
	}{
		{"back", path(tk.ID, "/move")},
		{"back", path(tk.ID, "")},
		{"back", "/queues"},
		{"forward", path(tk.ID, "")},
		{"forward", path(tk.ID, "/move")},
		{"forward", path(tk.ID, "")},
	} {
		eval[chromedp.Void](b, `setTimeout(() => history.`+step.chord+`())`) // the result arrives before the page is left
		b.at(step.path)
		b.wait(`document.readyState === "complete" && document.querySelector("main .bar") && document.querySelector("#nav")`)
	}
	b.see("Continue.")
	equal(t, "moves", len(inst.task(tk.ID).Comments), 1)
}

func TestTheKeyboardDoesEverything(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	first := inst.create(task.New{Title: "First of all", Priority: 9})
	second := inst.create(task.New{Title: "Second to it", Priority: 5})
	b := inst.tab()
	b.open("/queues")
	b.keys("/")
	b.wait(`document.activeElement?.matches("input[type=search]")`)
	b.insert("Second")
	b.loads(typed(kb.Enter))
	b.see("Second to it")
	b.seeNot("First of all")
	b.open("/queues")
	focused := func(id task.ID) { b.wait(`document.activeElement?.closest("#t-` + id.String() + `")`) }
	b.keys("j")
	focused(first.ID)
	b.keys("j")
	focused(second.ID)
	b.keys("k")
	focused(first.ID)
	b.keys("j")
	b.loads(typed(kb.Enter))
	b.at(path(second.ID, ""))
	b.loads(typed("m"))
	b.at(path(second.ID, "/move"))
	b.open("/queues")
	b.keys("c")
	b.wait(`document.querySelector("#new-task[open]")`)
	equal(t, "focus", eval[string](b, `document.activeElement.id`), "new-title")
}

// unreached lists what can be clicked on a page but was not reached by Tab. It leaves
// out buttons that only the Enter key presses.
const unreached = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
	.filter(e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length && !e.disabled && !e.dataset.tabbed && e.type !== "radio" && e.ariaHidden !== "true")
	.map(e => e.outerHTML.slice(0, 160)).join("\n")`

func TestTabReachesEverythingVisibly(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{
		Title: "Tab through me", Steps: []task.Step{{Title: "One"}},
		Resources: []task.Resource{{Type: "url", Value: "https://example.com"}},
	})
	r := inst.ask(inst.create(task.New{Title: "Decide", Owner: "keeper"}).ID)
	must(inst.svc.Ask(ctx, task.Actor{Name: "scout", Role: task.RoleAgent},
		inst.create(task.New{Title: "Ask", Owner: "scout"}).ID, "Why?", false))
	b := inst.tab()
	for _, p := range testkit.Sample(3, []string{
		"/", "/queues", path(tk.ID, ""), "/approvals/" + r.ID.String(), "/tasks/new", "/agents/coder", "/settings",
	}) {
		b.open(p)
		eval[chromedp.Void](b, `document.activeElement.blur()`)
		hidden := ""
		for ends := 0; ends < 2; { // the focus may start in the middle of a page
			b.keys(kb.Tab)
			at := eval[string](b, `(() => { const e = document.activeElement; if (!e || e === document.body) return "end"; if (e.dataset.tabbed) return "again"; e.dataset.tabbed = 1;
				const s = getComputedStyle(e), box = getComputedStyle(e.parentElement);
				return s.outlineStyle !== "none" || s.boxShadow !== "none" && e.matches("input, textarea, select") || box.boxShadow !== "none" || e.closest(".find, .composer") ? "seen" : "unseen " + e.outerHTML.slice(0, 160); })()`)
			switch at {
			case "end":
				ends++
			case "again", "seen":
			default:
				hidden += at + "\n"
			}
		}
		if left := eval[string](b, unreached); left != "" || hidden != "" {
			t.Errorf("%s: Tab does not reach:\n%s\nfocus is not visible on:\n%s", p, left, hidden)
		}
	}
}
