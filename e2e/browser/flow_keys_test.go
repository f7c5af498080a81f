package browser

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

// chord presses a key together with Ctrl, whose modifier bit is 2.
func (b *tab) chord(key string) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		p := input.DispatchKeyEventParams{Type: kind, Modifiers: 2, Key: key, Code: "Key" +
			string(key[0]-32), WindowsVirtualKeyCode: int64(key[0] - 32)}
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, p); err != nil {
			b.fatalf("%v", err)
		}
	}
}

// chosen waits until the palette has this entry selected.
func (b *tab) chosen(name string) {
	b.t.Helper()
	b.wait(`document.getElementById(document.activeElement?.getAttribute("aria-activedescendant"))?.textContent.includes(` + quote(name) + `)`)
}

func TestThePaletteLeadsEverywhere(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Polish the brass lamp", Owner: "scout"})
	inst.create(task.New{Title: "Oil the hinges", Owner: "scout"})
	b := inst.tab()
	b.open("/queues")
	t.Run("a task is found by words", func(t *testing.T) {
		b.chord("k")
		b.wait(`document.activeElement?.role === "combobox"`)
		b.insert("brass")
		b.chosen("Polish the brass lamp")
		b.loads(typed(kb.Enter))
		b.at(path(tk.ID, ""))
	})
	t.Run("a task is found by its number, before the results arrive", func(t *testing.T) {
		b.open("/queues")
		b.chord("k")
		b.insert("#" + tk.ID.String())
		b.loads(typed(kb.Enter))
		b.at(path(tk.ID, ""))
	})
	t.Run("an action of the page is executed", func(t *testing.T) {
		b.chord("k")
		b.insert("move")
		b.chosen("Move to another agent")
		b.loads(typed(kb.Enter))
		b.at(path(tk.ID, "/move"))
	})
	t.Run("arrows select, Escape returns the focus", func(t *testing.T) {
		b.open("/queues")
		b.keys("j")
		was := eval[string](b, `document.activeElement.href`)
		b.chord("k")
		first := eval[string](b, `document.activeElement.getAttribute("aria-activedescendant")`)
		b.keys(kb.ArrowDown)
		b.wait(`document.activeElement.getAttribute("aria-activedescendant") !== ` + quote(first))
		b.keys(kb.ArrowUp + kb.ArrowUp)
		b.wait(`document.querySelector("#pal-list [aria-selected=true]") === [...document.querySelectorAll("#pal-list [role=option]")].at(-1)`)
		b.keys(kb.Escape)
		b.wait(`!document.querySelector("#palette").open`)
		equal(t, "focus", eval[string](b, `document.activeElement.href`), was)
		eval[chromedp.Void](b, `document.activeElement.blur()`)
		eval[bool](b, `document.querySelector("#palette").dispatchEvent(new Event("close"))`) // it may be late
		equal(t, "focus after leaving", eval[bool](b, `document.activeElement === document.body`), true)
	})
	t.Run("an agent, a page and the theme", func(t *testing.T) {
		b.chord("k")
		b.insert("keep")
		b.chosen("keeper")
		b.loads(typed(kb.Enter))
		b.at("/agents/keeper")
		b.click("a.find")
		b.insert("sched")
		b.chosen("Scheduler")
		b.loads(typed(kb.Enter))
		b.at("/scheduler")
		b.chord("k")
		b.insert("theme")
		b.keys(kb.Enter)
		b.wait(`document.documentElement.dataset.theme === "dark"`)
	})
	t.Run("the result of an older search is not shown", func(t *testing.T) {
		eval[chromedp.Void](b, `void (() => { const real = fetch; window.fetch = (u, o) => u.includes("q=brass") ? new Promise((ok, no) => { o.signal.addEventListener("abort", () => no(new DOMException("", "AbortError"))); setTimeout(() => ok(real(u)), 1200); }) : real(u, o); })()`)
		b.chord("k")
		b.insert("brass")
		b.wait(`performance.now() > 0 && document.querySelector("#palette input").value === "brass"`)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 300))`)
		eval[chromedp.Void](b, `document.querySelector("#palette input").select()`)
		b.insert("hinges")
		b.chosen("Oil the hinges")
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 1300))`)
		b.seeNot("Polish the brass lamp")
		b.keys(kb.Escape)
	})
}

func TestThePaletteWorksOnASmallScreen(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/queues")
	b.size(390, 844)
	b.click(".more-tab summary")
	b.click(".tabbar a|Search")
	b.insert("histo")
	b.press("#pal-list [role=option]|History")
	b.at("/history")
}

func TestPaletteResultsWaitForAClick(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/queues")
	eval[chromedp.Void](b, `void (() => { const real = fetch; window.fetch = async (u, o) => { const res = await real(u, o); if (u.includes("q=histo")) await new Promise(go => { window.answer = go; }); return res; }; })()`)
	b.chord("k")
	b.insert("histo")
	b.wait(`window.answer`)
	var p spot
	b.do(b.onto("#pal-list [role=option]|History", func(at spot) chromedp.Action[chromedp.Void] {
		p = at
		return mouse(input.DispatchMouseEventTypeMousePressed, at)
	}))
	eval[chromedp.Void](b, `(window.answer(), new Promise(done => setTimeout(done, 300)))`)
	b.loads(mouse(input.DispatchMouseEventTypeMouseReleased, p))
	b.at("/history")
}

func TestWithoutScriptsTheSearchIsAForm(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Polish the brass lamp", Owner: "scout"})
	b := inst.tab().withoutScripts()
	b.open("/queues")
	b.fill("form.find input", "brass")
	b.loads(typed(kb.Enter))
	b.at("/search")
	b.press("#found a|Polish the brass")
	b.at(path(tk.ID, ""))
}

func TestShortcutsApplyOnlyWhereTheyShould(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.create(task.New{Title: "First of all", Priority: 9})
	b := inst.tab()
	b.open("/queues")
	t.Run("g and a letter lead to a page", func(t *testing.T) {
		for keys, path := range map[string]string{
			"gi": "/", "ga": "/approvals", "gq": "/queues",
			"gt": "/tasks", "gh": "/history", "gs": "/scheduler",
		} {
			b.loads(typed(keys))
			b.at(path)
		}
	})
	t.Run("the help names every key of the table", func(t *testing.T) {
		b.keys("?")
		b.wait(`document.querySelector("#keys").open`)
		equal(t, "keys without a kbd element", eval[int](b,
			`[...document.querySelectorAll("#keys [data-keys]:not([data-keys=''])")].filter(l => !l.querySelector("kbd")).length`), 0)
		b.keys("c")
		b.keys(kb.Escape)
		b.wait(`!document.querySelector("#keys").open`)
	})
	b.open("/queues")
	t.Run("typed text triggers no shortcuts", func(t *testing.T) {
		b.keys("/")
		b.keys("cgixz?")
		equal(t, "field", b.value("main .search input"), "cgixz?")
		b.at("/queues")
		eval[chromedp.Void](b, `document.activeElement.blur()`)
	})
	t.Run("keys with modifiers or from an input method do nothing", func(t *testing.T) {
		eval[chromedp.Void](b, `void [{key: "c", ctrlKey: true}, {key: "c", altKey: true}, {key: "c", metaKey: true}, {key: "c", isComposing: true}, {key: "c", keyCode: 229}].forEach(o => document.body.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, ...o})))`)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 100))`)
		b.at("/queues")
	})
	t.Run("they can be turned off for a person in every browser, except Ctrl K", func(t *testing.T) {
		b.open("/settings/appearance")
		b.click("input[name=keys][value=off]")
		b.press("form[action='/settings/keys'] button|Save")
		b.see("Saved the keyboard shortcuts")
		other := inst.tab()
		other.open("/queues")
		other.keys("c?gi")
		eval[chromedp.Void](other, `new Promise(done => setTimeout(done, 100))`)
		other.at("/queues")
		equal(t, "help open", eval[bool](other, `document.querySelector("#keys").open`), false)
		other.chord("k")
		other.wait(`document.querySelector("#palette").open`)
	})
}
