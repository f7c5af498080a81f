package browser

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

// holdFirst delays the first response to a matching request until window.release() is
// called; later requests get their response immediately.
func (b *tab) holdFirst(fits string) {
	b.t.Helper()
	eval[chromedp.Void](b, `void (() => {
		const real = window.fetch;
		let held = false;
		window.fetch = async (url, o) => {
			const mine = !held && String(url).includes(`+quote(fits)+`);
			held ||= mine;
			const res = await real(url, o);
			if (mine) await new Promise(done => { window.release = done; });
			return res;
		};
	})()`)
}

func TestLateResponses(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	one := inst.create(task.New{Title: "One", Priority: 5})
	two := inst.create(task.New{Title: "Two", Priority: 5})
	b := inst.tab()
	rowAt := func(tk *task.Task) string { return focusedRow + ` === "t-` + tk.ID.String() + `"` }

	t.Run("the dialog that was requested last stays", func(t *testing.T) {
		b.open("/queues")
		b.holdFirst(path(one.ID, "/move"))
		b.keys("j")
		b.wait(rowAt(one))
		b.keys("m")
		b.wait(`window.release`)
		b.keys("j")
		b.wait(rowAt(two))
		b.keys("m")
		b.wait(`document.querySelector("#act-dialog[open]")`)
		was := b.text("#act-dialog h2")
		eval[chromedp.Void](b, `(window.release(), new Promise(done => setTimeout(done, 100)))`)
		equal(t, "dialog", b.text("#act-dialog h2"), was)
		equal(t, "form", eval[bool](b, `document.querySelector("#act-dialog form").getAttribute("action").startsWith(`+
			quote(path(two.ID, "/"))+`)`), true)
	})
	t.Run("the board shows the effect of every act, in any order of responses", func(t *testing.T) {
		b.open("/queues")
		b.click("[data-live-pill]") // only the acts themselves report the changes
		b.holdFirst(path(one.ID, "/priority"))
		b.keys("j")
		b.wait(rowAt(one))
		b.keys("+")
		b.wait(`window.release`)
		b.keys("j")
		b.wait(rowAt(two))
		b.keys("+")
		b.wait(`document.querySelector("#t-` + two.ID.String() + `").dataset.p === "6"`)
		eval[chromedp.Void](b, `void (window.release())`)
		both := `["` + one.ID.String() + `", "` + two.ID.String() + `"].every(id => document.querySelector("#t-" + id).dataset.p === "6")`
		b.wait(both)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 300))`)
		equal(t, "both raised", eval[bool](b, both), true)
		b.click("[data-live-pill]")
	})
	t.Run("a mouse button released outside the window ends the drag", func(t *testing.T) {
		b.open("/queues")
		at := b.in(card(two.ID), 60, 30)
		b.lift(card(two.ID), at)
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+20, at.Y+20))
		b.wait(`!document.body.dataset.dragging && !document.querySelector(".task-card.ghost, .drop")`)
		b.drop(spot{5, 5})
		equal(t, "address", eval[string](b, `location.pathname`), "/queues")
	})
	t.Run("a closed palette does not navigate", func(t *testing.T) {
		b.open("/agents")
		b.chord("k")
		b.insert("keep")
		b.chosen("keeper") // found, but not chosen
		eval[chromedp.Void](b, `void (window.fetch = (url, o) => new Promise((_, no) => o.signal.addEventListener("abort", () => { window.stopped = true; no(new DOMException("", "AbortError")); })))`)
		eval[chromedp.Void](b, `document.querySelector("#palette input").select()`)
		b.insert("1")
		b.keys(kb.Enter)
		b.keys(kb.Escape)
		b.wait(`!document.querySelector("#palette").open && window.stopped`)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 100))`)
		equal(t, "address", eval[string](b, `location.pathname`), "/agents")
	})
}

func TestTheFocusStaysWhereItWasLastPut(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("a", "b")
	b := inst.tab()
	b.open(path(tk.ID, ""))
	eval[chromedp.Void](b, `void (() => {
		const tick = document.querySelector("#plan .tick");
		tick.focus();
		tick.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", altKey: true, bubbles: true}));
		document.querySelector("#comment").focus();
	})()`)
	b.seesPlan("b a")
	eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 200))`)
	equal(t, "focus", eval[string](b, `document.activeElement.id`), "comment")
}

func TestAStreamOfOtherTopicsDoesNotMakeAPageCurrent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watched", Owner: "scout"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	// The tab with the stream reports changes to all tabs; topics are those of its stream.
	report := func(gen, topics string) string {
		return eval[string](b, `(() => { const topics = `+topics+`; new BroadcastChannel("taskyard-tabs").postMessage({message: {topics, named: ["task:999"], gen: "`+gen+`"}});
			return new Promise(done => setTimeout(() => done(document.documentElement.dataset.gen), 200)); })()`)
	}
	const own = `[...document.querySelectorAll("[data-live]")].flatMap(el => el.dataset.live.split(/\s+/).filter(Boolean))`
	equal(t, "generation after a stream with the topics of the page", report("12345", own), "12345")
	equal(t, "generation after a stream that did not know the page yet", report("67890", `["task:999"]`), "12345")
}

func TestAFormIsResentAfterALostResponse(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/tasks/new")
	b.fill("#title", "Slow to come")
	b.choose("#owner", "scout")
	b.lose()
	b.click("button|Create task")
	b.see("Connection lost. Checking…")
	b.wait(`location.pathname === "/tasks/1"`)
	b.see("Created #1")
	equal(t, "tasks", len(inst.open()), 1)
	equal(t, "drafts", eval[int](b, `Object.keys(localStorage).filter(k => k.startsWith("draft:")).length`), 0)
	b.lose()
	b.fill("#comment", "Said once")
	b.click("#comment-form button")
	b.see("Connection lost. Checking…")
	b.wait(`document.querySelector("#feed")?.innerText.includes("Said once")`)
	b.gone("Connection lost")
	b.wait(`document.activeElement.id === "comment" && document.activeElement.value === ""`)
	equal(t, "comments", len(inst.task(1).Comments), 1)
}

func TestAFormWaitsForTheServer(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Talked about", Owner: "scout"})
	p := newProxied(t, inst)
	b := newTab(t, p.URL)
	b.expect(append([]string{"500"}, whileAway...)...)
	inst.signIn(b)
	b.open(path(tk.ID, ""))
	t.Run("while it is down", func(t *testing.T) {
		b.fill("#comment", "Said into the dark")
		p.down.Store(true)
		p.CloseClientConnections()
		b.click("#comment-form button")
		b.see("Connection lost. Checking…")
		b.click("#comment-form button") // a second click changes nothing
		p.down.Store(false)
		b.wait(`document.querySelector("#feed")?.innerText.includes("Said into the dark")`)
		b.gone("Connection lost")
		equal(t, "comments", len(inst.task(tk.ID).Comments), 1)
	})
	t.Run("not if the server itself reports an error", func(t *testing.T) {
		b.fill("#comment", "Kept")
		p.broken.Store(true)
		b.click("#comment-form button")
		b.see("Request REQ0815")
		b.seeNot("Connection lost")
		equal(t, "typed", b.value("#comment"), "Kept")
		p.broken.Store(false)
		b.click("#comment-form button")
		b.wait(`document.querySelector("#feed")?.innerText.includes("Kept")`)
		b.wait(`document.querySelector("#comment").value === ""`)
	})
}

func TestAHiddenTabDoesNotCountAsSeen(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/")
	seen := `navigator.locks.query().then(l => l.held.filter(l => l.name === "taskyard-seen").length)`
	b.wait(seen + `.then(n => n === 1)`)
	eval[chromedp.Void](b, `void (() => {
		let hidden = false;
		Object.defineProperty(document, "hidden", {get: () => hidden});
		window.turn = to => { hidden = to; document.dispatchEvent(new Event("visibilitychange")); };
		[true, false, true, false].forEach(turn);
	})()`)
	b.wait(seen + `.then(n => n > 0)`)
	eval[chromedp.Void](b, `(new Promise(done => setTimeout(done, 100))).then(() => window.turn(true))`)
	eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 100))`)
	equal(t, "visible tabs", eval[int](b, seen), 0)
}
