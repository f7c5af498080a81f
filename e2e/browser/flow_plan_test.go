package browser

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

// planned creates a task with steps of these titles.
func (inst *instance) planned(titles ...string) *task.Task {
	inst.t.Helper()
	in := task.New{Title: "A plan"}
	for _, s := range titles {
		in.Steps = append(in.Steps, task.Step{Title: s})
	}
	return inst.create(in)
}

// plan returns the plan on the server: titles, with * if done.
func (inst *instance) plan(id task.ID) string {
	inst.t.Helper()
	var words []string
	for _, s := range inst.task(id).Steps {
		w := s.Title
		if s.Done {
			w += "*"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// countRequests makes seesPlan wait for every request of the page: the class
// htmx-request is lost if a response morphs the element that has it, and a part that
// was requested before a change may arrive after it.
func (b *tab) countRequests() {
	b.t.Helper()
	eval[chromedp.Void](b, `(() => {
		const send = XMLHttpRequest.prototype.send;
		window.requests = 0;
		XMLHttpRequest.prototype.send = function (...a) {
			window.requests++;
			this.addEventListener("loadend", () => setTimeout(() => window.requests--, 50)); // its result is shown by then
			return send.apply(this, a);
		};
	})()`)
}

// seesPlan waits until the page shows a plan that the server has stored.
func (b *tab) seesPlan(want string) {
	b.t.Helper()
	b.wait(`!window.requests && !document.querySelector(".htmx-request") && [...document.querySelectorAll("#plan .steps > li")].map(li => li.querySelector(".step-title").textContent + (li.querySelector("input[name=done]").value === "false" ? "*" : "")).join(" ") === ` + quote(want))
}

// alt presses a key together with Alt.
func (b *tab) alt(key string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, e := range kb.Encode([]rune(key)[0]) {
			e.Modifiers = 1 // Alt
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestAPlanIsEditedByMouse(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("one", "two", "three")
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.click("#tick-0")
	b.seesPlan("one* two three")
	b.see("1 of 3")
	b.click("#step-0 label")
	b.seesPlan("one two three")

	b.click("#panel-1 summary")
	b.fill("#title-1", "two-and-a-half")
	b.fill("#details-1", "With care.")
	b.press("#panel-1 button|Save step")
	b.see("With care.")
	equal(t, "plan", inst.plan(tk.ID), "one two-and-a-half three")

	b.click("#panel-2 summary")
	b.click("#panel-2 button|Move up")
	b.seesPlan("one three two-and-a-half")
	b.wait(`document.getElementById("panel-1").open && !document.getElementById("panel-2").open && document.activeElement.textContent.trim() === "Move up"`)
	equal(t, "plan", inst.plan(tk.ID), "one three two-and-a-half")

	b.fill("#panel-1 .add-line input.input", "between")
	b.press("#panel-1 button|Insert")
	b.seesPlan("one three between two-and-a-half")
	b.fill("#step", "last")
	b.press("button|Add step")
	b.seesPlan("one three between two-and-a-half last")

	b.click("#panel-3 summary")
	b.do(b.onto("#panel-3 button|Delete", times(3)))
	b.seesPlan("one three between last")
	b.see("Step 4 was deleted: two-and-a-half")
	b.click("button|Undo")
	b.seesPlan("one three between two-and-a-half last")
	equal(t, "details", inst.task(tk.ID).Steps[3].Details, "With care.")
}

func TestAStepIsDragged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("one", "two", "three", "four")
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.countRequests()
	drag := func(from, to int, lower bool) {
		t.Helper()
		eval[chromedp.Void](b, `((from, to, lower) => {
			const rows = document.querySelectorAll("#plan .steps > li"), data = new DataTransfer(), r = rows[to].getBoundingClientRect(), at = {bubbles: true, cancelable: true, dataTransfer: data, clientY: lower ? r.bottom - 2 : r.top + 2};
			rows[from].querySelector("[data-grip]").dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}));
			if (!rows[from].draggable) throw new Error("not draggable");
			rows[from].dispatchEvent(new DragEvent("dragstart", at));
			rows[to].dispatchEvent(new DragEvent("dragover", at));
			rows[to].dispatchEvent(new DragEvent("drop", at));
			rows[from].dispatchEvent(new DragEvent("dragend", at));
		})(`+quoteAll(from, to, lower)+`)`)
	}
	drag(3, 0, false)
	b.seesPlan("four one two three")
	drag(0, 2, true)
	b.seesPlan("one two four three")
	drag(1, 0, false)
	b.seesPlan("two one four three")
	equal(t, "plan", inst.plan(tk.ID), "two one four three")
	b.see("Step 2 is step 1 now")
	b.keys("z")
	b.seesPlan("one two four three")
}

func TestAPlanIsEditedByKeyboard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("one", "two", "three")
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.keys("j")
	b.wait(`document.activeElement.id === "tick-0"`)
	b.keys(" ")
	b.seesPlan("one* two three")
	b.wait(`document.activeElement.id === "tick-0"`)
	b.alt(kb.ArrowDown)
	b.seesPlan("two one* three")
	b.wait(`document.activeElement.id === "tick-1"`)
	b.alt(kb.ArrowDown)
	b.seesPlan("two three one*")
	b.wait(`document.activeElement.id === "tick-2"`)
	b.keys(kb.Tab + kb.Enter) // the edit button of the third step
	b.wait(`document.activeElement.id === "title-2"`)
	b.keys(kb.Escape)
	b.wait(`!document.getElementById("panel-2").open && document.activeElement.closest("#panel-2")`)
	equal(t, "plan", inst.plan(tk.ID), "two three one*")
}

func TestAPlanIsEditedWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("one", "two", "three")
	b := inst.tab().withoutScripts()
	b.open(path(tk.ID, ""))
	b.press("#step-0 button|Done")
	equal(t, "plan", inst.plan(tk.ID), "one* two three")
	b.click("#panel-2 summary")
	b.press("#panel-2 button|Move up")
	b.press("#panel-1 button|Move up") // the panel stays with its step
	equal(t, "plan", inst.plan(tk.ID), "three one* two")
	b.press("#panel-0 button|Delete")
	equal(t, "plan", inst.plan(tk.ID), "one* two")
	b.press("button|Undo")
	equal(t, "plan", inst.plan(tk.ID), "three one* two")
	b.expect("422")
	b.click("#panel-1 summary")
	b.fill("#title-1", strings.Repeat("long ", 13))
	eval[chromedp.Void](b, `void document.querySelector("#title-1").removeAttribute("maxlength")`)
	b.fill("#title-1", strings.Repeat("long ", 13))
	b.press("#panel-1 button|Save step")
	b.see("Must be 1 to 60 characters, not 65")
	equal(t, "typed text", b.value("#title-1"), strings.Repeat("long ", 13))
	b.fill("#title-1", "better")
	b.press("#panel-1 button|Save step")
	equal(t, "plan", inst.plan(tk.ID), "three better* two")
}

func TestATickShowsImmediatelyAndIsRevertedOnFailure(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.planned("one", "two")
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	// Only acts, which have a body, are held: a live refresh may come in between.
	eval[chromedp.Void](b, `(() => { const send = XMLHttpRequest.prototype.send; window.realSend = send; window.held = [];
		XMLHttpRequest.prototype.send = function (...a) {
			if (!a[0]) return send.apply(this, a);
			window.held.push(() => send.apply(this, a));
		}; })()`)
	b.click("#tick-0")
	b.click("#tick-1")
	b.wait(`document.querySelectorAll("#plan li.done").length === 2 && document.querySelector("[data-steps-said]").textContent === "2 of 2" && document.querySelector("#plan progress").value === 2`)
	equal(t, "plan", inst.plan(tk.ID), "one two")
	eval[chromedp.Void](b, `window.held.shift()()`)
	b.wait(`document.querySelector("#step-0 input[name=done]").value === "false"`)
	b.wait(`document.querySelector("#step-1.done") && document.querySelector("#tick-1").checked && document.querySelector("[data-steps-said]").textContent === "2 of 2"`)
	equal(t, "plan", inst.plan(tk.ID), "one* two")
	eval[chromedp.Void](b, `(XMLHttpRequest.prototype.send = window.realSend, void window.held.forEach(f => f()))`)
	b.seesPlan("one* two*")

	t.Run("the server is down", func(t *testing.T) {
		b.expect("htmx:sendError", "htmx:afterRequest")
		eval[chromedp.Void](b, `void (XMLHttpRequest.prototype.send = function () {
			if (!arguments[0]) return window.realSend.call(this); // not an act
			XMLHttpRequest.prototype.send = window.realSend;
			setTimeout(() => this.onerror(new Event("error")));
		})`)
		b.click("#tick-1") // is sent again with its key
		b.wait(`!document.querySelector("#step-1.done") && !document.querySelector("#tick-1").checked && !document.querySelector("#tick-1").disabled`)
		b.seesPlan("one* two")
		b.click("#tick-1")
		b.seesPlan("one* two*")
	})
	t.Run("the step has changed meanwhile", func(t *testing.T) {
		b.expect("409")
		eval[chromedp.Void](b, `document.querySelector("#step-0 input[name=seen]").value = "of-another-title", document.querySelector("#tick-0").click()`)
		b.see("Step 1 of task")
		b.wait(`document.querySelector("#step-0.done") && document.querySelector("#tick-0").checked`)
		equal(t, "plan", inst.plan(tk.ID), "one* two*")
	})
}

// quoteAll writes values as arguments of a JavaScript call.
func quoteAll(values ...any) string {
	words := make([]string, len(values))
	for i, v := range values {
		b, _ := json.Marshal(v)
		words[i] = string(b)
	}
	return strings.Join(words, ", ")
}

func TestStepsAreAddedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Of many steps"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	loaded := eval[float64](b, `performance.timeOrigin`)
	b.fill("#comment", "Half a thought")
	b.click(".add-line input[name=title]")
	for _, step := range []string{"One", "Two", "Three"} {
		b.insert(step)
		b.loads(typed(kb.Enter))
	}
	b.seesPlan("One Two Three")
	equal(t, "focus", eval[string](b, `document.activeElement.name + document.activeElement.value`), "title")
	equal(t, "page was reloaded", eval[float64](b, `performance.timeOrigin`) != loaded, false)
	equal(t, "text typed elsewhere on the page", b.value("#comment"), "Half a thought")
}
