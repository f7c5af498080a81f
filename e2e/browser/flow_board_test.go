package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/service"
	"taskyard/task"
)

func card(id task.ID) string { return "#t-" + id.String() }

// column is true if a card is in the column of an agent.
func column(agent string, id task.ID) string {
	return `document.querySelector('section[data-agent="` + agent + `"] ` + card(id) + `')`
}

// mouse moves the mouse, with the left button down or not.
func mouse(kind input.DispatchMouseEventType, p spot) chromedp.Action[chromedp.Void] {
	if kind == input.DispatchMouseEventTypeMouseMoved {
		return chromedp.MouseEvent(kind, p.X, p.Y, chromedp.ButtonLeft)
	}
	return chromedp.MouseEvent(kind, p.X, p.Y, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// lift picks up a card and moves it over another place without dropping it.
func (b *tab) lift(what string, to spot) {
	b.t.Helper()
	var p spot
	b.do(b.onto(what, func(at spot) chromedp.Action[chromedp.Void] {
		p = at
		return mouse(input.DispatchMouseEventTypeMousePressed, at)
	}))
	b.do(mouse(input.DispatchMouseEventTypeMouseMoved, spot{p.X + 10, p.Y + 10}),
		mouse(input.DispatchMouseEventTypeMouseMoved, spot{(p.X + to.X) / 2, (p.Y + to.Y) / 2}),
		mouse(input.DispatchMouseEventTypeMouseMoved, to))
	b.wait(`document.body.dataset.dragging`)
}

func (b *tab) drop(at spot) {
	b.t.Helper()
	b.do(mouse(input.DispatchMouseEventTypeMouseReleased, at))
}

// in returns a point of an element, relative to its upper left corner.
func (b *tab) in(sel string, dx, dy float64) spot {
	b.t.Helper()
	p := eval[spot](b, `(() => { const r = document.querySelector(`+quote(sel)+`).getBoundingClientRect(); return {X: r.x, Y: r.y}; })()`)
	return spot{p.X + dx, p.Y + dy}
}

func (inst *instance) priority(id task.ID) int { return inst.task(id).Priority }

const focusedRow = `document.activeElement?.closest("[data-row]")?.id ?? document.activeElement?.localName`

func TestDragACardToAnotherColumn(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Carry me over", Priority: 4})
	inst.create(task.New{Title: "Here already", Owner: "scout", Priority: 1})
	b := inst.tab()
	b.open("/queues?priority=1")
	to := b.in(`section[data-agent="scout"]`, 60, 60)
	b.lift(card(tk.ID), to)
	b.see("Drop to hand off #" + tk.ID.String() + " to scout")
	b.drop(to)
	b.wait(`document.querySelector("#act-dialog[open]")`)
	equal(t, "owner before the comment", inst.task(tk.ID).Owner, "coder")
	equal(t, "new owner", b.value("#act-dialog select"), "scout")
	equal(t, "focus", eval[string](b, `document.activeElement.id`), "comment")

	b.click("#act-dialog a|Cancel")
	b.wait(`!document.querySelector("#act-dialog[open]")`)
	equal(t, "focus after keeping", eval[string](b, focusedRow), "t-"+tk.ID.String())
	equal(t, "owner after keeping", inst.task(tk.ID).Owner, "coder")

	b.lift(card(tk.ID), to)
	b.drop(to)
	b.wait(`document.querySelector("#act-dialog[open]")`)
	b.insert("You know the way better.")
	// In a single task of the page: later clicks would hit what is under the dialog.
	eval[bool](b, `(() => { const move = [...document.querySelectorAll("#act-dialog button")].find(e => e.textContent.trim() === "Move"); move.click(); move.click(); move.click(); return true })()`)
	b.wait(column("scout", tk.ID))
	b.wait(`document.querySelector("#toasts").textContent.includes("Moved #` + tk.ID.String() + ` to scout")`)
	equal(t, "address", eval[string](b, `location.pathname + location.search`), "/queues?priority=1")
	equal(t, "focus", eval[string](b, focusedRow), "t-"+tk.ID.String())
	equal(t, "comments", len(inst.task(tk.ID).Comments), 1)
	equal(t, "author", inst.task(tk.ID).Comments[0].Author, "user:maya")

	b.click("[data-undo]")
	b.wait(column("coder", tk.ID))
	b.see("#" + tk.ID.String() + " is coder’s again")
	equal(t, "owner", inst.task(tk.ID).Owner, "coder")
}

func TestDragInsideAColumnSetsThePriority(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ids := map[string]task.ID{}
	for _, c := range []struct {
		name string
		prio int
	}{{"a", 9}, {"b", 5}, {"c", 5}, {"d", 1}} {
		ids[c.name] = inst.create(task.New{Title: "Card " + c.name, Priority: c.prio}).ID
	}
	b := inst.tab()
	b.open("/queues")
	to := b.in(card(ids["b"]), 40, 3)
	b.lift(card(ids["d"]), to)
	b.wait(`document.querySelector(".drop.line")`)
	b.drop(to)
	b.see("1 → 6")
	inst.until("d is above b", func() bool { return inst.priority(ids["d"]) == 6 })
	b.wait(`[...document.querySelectorAll(".task-card")].map(c => c.id.slice(2)).join() === "` +
		strings.Join([]string{ids["a"].String(), ids["d"].String(), ids["b"].String(), ids["c"].String()}, ",") + `"`)
	equal(t, "address", eval[string](b, `location.pathname`), "/queues")

	b.keys("z")
	b.see("6 → 1")
	inst.until("d is where it was", func() bool { return inst.priority(ids["d"]) == 1 })

	t.Run("a drop at the same place, or outside the board, does nothing", func(t *testing.T) {
		v := inst.task(ids["b"]).Version
		at := b.in(card(ids["b"]), 60, 30)
		b.lift(card(ids["b"]), at)
		b.drop(at)
		b.lift(card(ids["b"]), spot{5, 5})
		b.drop(spot{5, 5})
		b.lift(card(ids["b"]), b.in(card(ids["d"]), 40, 60))
		b.keys(kb.Escape)
		b.wait(`!document.body.dataset.dragging && !document.querySelector(".task-card.ghost, .drop")`)
		b.drop(spot{5, 5})
		equal(t, "version", inst.task(ids["b"]).Version, v)
		equal(t, "address", eval[string](b, `location.pathname`), "/queues")
	})
}

func TestTheBoardByMenuAndByKeys(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	first := inst.create(task.New{Title: "First", Priority: 5})
	second := inst.create(task.New{Title: "Second", Priority: 5})
	b := inst.tab()
	b.open("/queues")
	b.click("#m-" + second.ID.String() + " summary")
	b.click("#m-" + second.ID.String() + " button|Raise")
	b.see("5 → 6")
	b.wait(`document.querySelector(".task-card").id === "t-` + second.ID.String() + `"`)
	equal(t, "menu stays open", eval[bool](b, `document.querySelector("#m-`+second.ID.String()+`").open`), true)
	equal(t, "focus stays", eval[bool](b, `document.activeElement.matches("#t-`+second.ID.String()+` [data-key-up]")`), true)
	b.click("#m-" + second.ID.String() + " button|Lower")
	b.see("6 → 5")
	b.keys(kb.Escape)

	b.open("/queues")
	b.keys("jj")
	b.wait(focusedRow + ` === "t-` + second.ID.String() + `"`)
	b.keys("+")
	b.see("5 → 6")
	equal(t, "priority", inst.priority(second.ID), 6)
	b.keys("x")
	b.wait(`document.querySelector("#said").textContent.includes("#` + second.ID.String() + ` selected, 1 in all")`)
	b.see("1 selected")
	b.keys("x")
	b.gone("1 selected")
	b.keys("m")
	b.wait(`document.querySelector("#act-dialog[open]") && document.activeElement.matches("select")`)
	b.keys("s" + kb.Tab)
	b.insert("by keys")
	b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.wait(column("scout", second.ID))
	equal(t, "focus", eval[string](b, focusedRow), "t-"+second.ID.String())
	b.keys("k")
	b.wait(focusedRow + ` === "t-` + first.ID.String() + `"`)
	// The close event of a dialog is sent with the next frame, which may be late.
	eval[bool](b, `document.querySelector("#act-dialog").dispatchEvent(new Event("close"))`)
	equal(t, "focus after a late event of the dialog", eval[string](b, focusedRow), "t-"+first.ID.String())
	b.loads(typed("e"))
	b.at(path(first.ID, "/edit"))
	b.fill("#title", "First, better")
	b.press("button|Save")
	b.at("/queues")
	b.see("First, better")
}

func TestTheBoardWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Plain", Priority: 5})
	other := inst.create(task.New{Title: "Other", Priority: 4})
	b := inst.tab().withoutScripts()
	home := "/queues?agent=coder"
	b.open(home)
	menu := func() { b.click("#m-" + tk.ID.String() + " summary") }
	menu()
	b.press("#m-" + tk.ID.String() + " button|Raise")
	b.see("5 → 6")
	equal(t, "priority", inst.priority(tk.ID), 6)
	b.press("[data-undo]")
	equal(t, "priority", inst.priority(tk.ID), 5)
	menu()
	b.press("#m-" + tk.ID.String() + " a|Move")
	b.choose("#to", "scout")
	b.fill("#comment", "plainly")
	b.press("button|Move")
	equal(t, "address", eval[string](b, `location.pathname + location.search`), home)
	b.see("Moved #" + tk.ID.String() + " to scout")
	equal(t, "owner", inst.task(tk.ID).Owner, "scout")

	b.open("/tasks")
	b.seeNot("Priority…")
	b.click(card(tk.ID) + " [data-pick]")
	b.click(card(other.ID) + " [data-pick]")
	b.press("#bulk button|Move…")
	b.see("Move 2 tasks")
	b.choose("#to", "scout")
	b.fill("#text", "both")
	b.press("button|Move 2 tasks")
	b.see("Moved 1 task to scout; 1 skipped")
	b.see("#" + tk.ID.String() + ": Task " + tk.ID.String() + " belongs to scout already")
	equal(t, "address", eval[string](b, `location.pathname + location.search`), "/tasks")
	equal(t, "owner", inst.task(other.ID).Owner, "scout")
}

func TestTwoBrowsersMoveTheSameCard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Contended", Priority: 5})
	one, two := inst.tab(), inst.tab()
	for _, b := range []*tab{one, two} {
		b.open("/queues")
		b.click("#m-" + tk.ID.String() + " summary")
		b.click("#m-" + tk.ID.String() + " a|Move")
		b.wait(`document.querySelector("#act-dialog[open]")`)
	}
	one.choose("#act-dialog select", "scout")
	one.fill("#comment", "mine")
	one.click("#act-dialog button|Move")
	one.wait(column("scout", tk.ID))
	two.expect("409")
	two.wait(column("scout", tk.ID)) // it is updated under the open dialog
	two.choose("#act-dialog select", "keeper")
	two.fill("#comment", "no, mine")
	two.click("#act-dialog button|Move")
	two.see("is no longer assigned to coder (currently assigned to: scout), by maya")
	equal(t, "comment stays", two.value("#comment"), "no, mine")
	equal(t, "owner", inst.task(tk.ID).Owner, "scout")

	t.Run("and a stale priority is reported", func(t *testing.T) {
		two.click("#act-dialog a|Cancel")
		two.wait(`document.querySelector("#m-` + tk.ID.String() + ` [data-key-up]").value === "5 6"`)
		eval[chromedp.Void](two, `void document.querySelector("#m-`+tk.ID.String()+` [data-key-up]").setAttribute("value", "3 4")`)
		two.click("#m-" + tk.ID.String() + " summary")
		two.click("#m-" + tk.ID.String() + " button|Raise")
		two.see("The priority of task " + tk.ID.String() + " is now 5, not 3")
		equal(t, "priority", inst.priority(tk.ID), 5)
	})
}

func TestChangesOfOthersKeepSelectionMenusAndFocus(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Stay with me", Priority: 5})
	other := inst.create(task.New{Title: "Open me", Priority: 3})
	b := inst.tab()
	b.open("/queues")
	b.live()
	b.keys("j")
	b.keys("x")
	b.see("1 selected")
	b.click("#m-" + other.ID.String() + " summary")
	eval[chromedp.Void](b, `void document.querySelector("`+card(tk.ID)+` .title a").focus()`)
	must(inst.svc.HandOver(ctx, inst.maya, service.HandOver{TaskID: tk.ID, From: "coder", To: "scout", Comment: "x"}))
	b.wait(column("scout", tk.ID))
	equal(t, "focus", eval[string](b, focusedRow), "t-"+tk.ID.String())
	equal(t, "selected", eval[bool](b, `document.querySelector("`+card(tk.ID)+` [data-pick]").checked`), true)
	equal(t, "menu", eval[bool](b, `document.querySelector("#m-`+other.ID.String()+`").open`), true)
	must(inst.svc.CompleteTask(ctx, inst.maya, tk.ID, "", 0))
	b.wait(`!document.querySelector("` + card(tk.ID) + `")`)
	b.wait(`!document.querySelector("#bulk").checkVisibility()`)
	b.wait(`["A", "H1"].includes(document.activeElement.tagName)`)

	t.Run("and a dragged card", func(t *testing.T) {
		to := b.in(`section[data-agent="scout"]`, 60, 60)
		b.keys(kb.Escape)
		b.lift(card(other.ID), to)
		late := inst.create(task.New{Title: "Came late", Owner: "keeper"})
		equal(t, "drop place", eval[bool](b, `!!document.querySelector(".drop")`), true)
		b.drop(to)
		b.wait(`document.querySelector("#act-dialog[open]")`)
		b.keys(kb.Escape)
		b.wait(column("keeper", late.ID))
	})
}

func TestBackAndForwardAfterActsOnTheBoard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Here and back", Priority: 2})
	b := inst.tab()
	b.open("/tasks")
	b.open("/queues?agent=coder")
	b.click("#m-" + tk.ID.String() + " summary")
	b.click("#m-" + tk.ID.String() + " button|Raise")
	b.see("2 → 3")
	for _, step := range [][2]string{{"back", "/tasks"}, {"forward", "/queues"}} {
		eval[chromedp.Void](b, `setTimeout(() => history.`+step[0]+`())`)
		b.at(step[1])
		b.wait(`document.readyState === "complete" && document.querySelector("` + card(tk.ID) + `")`)
	}
	b.wait(`document.querySelector("` + card(tk.ID) + `").dataset.p === "3"`)
	equal(t, "filter", eval[string](b, `location.search`), "?agent=coder")
	equal(t, "priority", inst.priority(tk.ID), 3)
}
