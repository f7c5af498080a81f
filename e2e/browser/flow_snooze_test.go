package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// notice has scout send a notice about a new task.
func (inst *instance) notice(title, text string) *task.Task {
	inst.t.Helper()
	tk := inst.create(task.New{Title: title, Owner: "scout"})
	must(inst.svc.Notify(ctx, scout, tk.ID, text))
	return tk
}

// events counts the events of a kind about a task.
func (inst *instance) events(id task.ID, kind string) (n int) {
	inst.t.Helper()
	for _, e := range must(inst.svc.Events(ctx, inst.maya, task.EventFilter{TaskID: id, Limit: 500})) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// snoozeAndWake snoozes a question, undoes that, and repeats it.
func snoozeAndWake(inst *instance, b *tab) {
	inst.t.Helper()
	tk, _ := inst.asked("Choose the way", "North or south?")
	b.open("/")
	b.click("summary|Snooze the question")
	b.press("button|Until tomorrow")
	b.at("/")
	b.gone("North or south?")
	b.see("Snoozed (1)")
	equal(inst.t, "title", eval[string](b, `document.title`), "Inbox · Taskyard")
	b.press("button|Undo")
	b.at("/")
	b.see("North or south?")
	b.click("summary|Snooze the question")
	b.press("button|next Monday")
	b.gone("North or south?")
	b.click("summary|Snoozed (1)")
	b.see("comes back Mon 09:00")
	b.press("button|Wake now")
	b.see("North or south?")
	equal(inst.t, "snoozed", inst.events(tk.ID, task.EvSnoozed), 2)
	equal(inst.t, "woken", inst.events(tk.ID, task.EvWoken), 2)
}

func TestSnoozeUndoAndWake(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	snoozeAndWake(inst, inst.tab())
}

func TestSnoozeUndoAndWakeWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := newTab(t, inst.url).withoutScripts()
	inst.signIn(b)
	snoozeAndWake(inst, b)
}

func TestASnoozedItemReturnsLive(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.asked("Choose the way", "North or south?")
	b := inst.tab()
	b.open("/")
	b.click("summary|Snooze the question")
	b.press("button|For an hour")
	b.gone("North or south?")
	b.live()
	inst.clock.Forward(time.Hour)
	b.see("North or south?")
	b.wait(`document.title.startsWith("(1) ")`)
}

func TestTheInboxByKeyboard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	question, area := inst.asked("Choose the way", "North or south?")
	first, second := inst.notice("Watch the gate", "The gate is shut."), inst.notice("Watch the well", "The well is dry.")
	b := inst.tab()
	b.open("/")
	at := func(what string) {
		t.Helper()
		b.wait(`document.activeElement.textContent.includes(` + quote(what) + `)`)
	}
	b.keys("j")
	at(question.Title)
	b.keys("j")
	at(second.Title)
	b.loads(typed("a"))
	b.gone("The well is dry.")
	at(first.Title) // the next row has the focus
	b.loads(typed("z"))
	b.see("The well is dry.")
	equal(t, "undone", inst.events(second.ID, task.EvUnacknowledged), 1)
	b.keys("kkkjj")
	at(first.Title)
	b.keys("b")
	b.wait(`document.activeElement.textContent === "For an hour"`)
	b.loads(typed("\r"))
	b.gone("The gate is shut.")
	b.see("Snoozed (1)")
	b.keys("kkk")
	at(question.Title)
	b.keys("a") // to the answer
	b.wait(`"#" + document.activeElement.id === ` + quote(area))
	b.insert("South.")
	equal(t, "typed", b.value(area), "South.")
	b.open("/")
	b.keys("j")
	b.loads(typed("\r"))
	b.at(path(question.ID, ""))
}

func TestADoubleClickAcknowledgesOnce(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.notice("Watch the gate", "The gate is shut.")
	b := inst.tab()
	b.open("/")
	b.loads(b.onto("button|Acknowledge", times(2)))
	b.see("Inbox is empty")
	equal(t, "acknowledged", inst.events(tk.ID, task.EvAcknowledged), 1)
}

func TestAnUnfinishedAnswerSurvivesAnother(t *testing.T) {
	t.Parallel()
	inst := newWakingInstance(t)
	_, first := inst.asked("Choose the way", "North or south?")
	_, second := inst.asked("Choose the hour", "Noon or night?")
	b := inst.tab()
	b.open("/")
	b.fill(second, "Noon, bec")
	b.fill(first, "South.")
	b.press("form.composer button|Answer")
	b.gone("North or south?")
	equal(t, "kept", b.value(second), "Noon, bec")
	b.fill(second, "Noon.")
	b.press("form.composer button|Answer")
	b.gone("Noon or night?")
	b.open("/")
	equal(t, "drafts left", eval[float64](b, `Object.keys(sessionStorage).filter(k => k.startsWith("draft:")).length`), 0)
}

// playNotifications replaces the system notifications.
const playNotifications = `(() => {
	window.shown = [];
	window.Notification = class { constructor(title, o) { window.shown.push(title + ": " + o.body); } close() {} static permission = "default"; static async requestPermission() { return this.permission = "granted"; } };
})()`

func TestTheBrowserNotifiesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab().preload(playNotifications)
	hide := func(hidden string) {
		eval[chromedp.Void](b, `void (Object.defineProperty(document, "hidden", {configurable: true, get: () => `+
			hidden+`}), document.dispatchEvent(new Event("visibilitychange")))`)
	}
	listening := func() { // the lock is held, and the stream is open
		b.wait(`navigator.locks.query().then(l => l.held.some(l => l.name === "taskyard-notify"))`)
		b.wait(`performance.getEntriesByType("resource").some(r => r.name.includes("/api/inbox"))`)
	}
	b.open("/settings")
	hide("true")
	equal(t, "listening before it was turned on",
		eval[bool](b, `navigator.locks.query().then(l => l.held.some(l => l.name === "taskyard-notify"))`), false)
	hide("false")
	b.click("button|Turn on in this browser")
	b.see("Turn off in this browser")
	eval[chromedp.Void](b, `void (Notification.permission = "granted")`)
	hide("true")
	listening()
	inst.asked("Choose the way", "North or south?")
	b.wait(`window.shown.length === 1`)
	equal(t, "shown", eval[string](b, `window.shown[0]`), "1 thing waits for you: Choose the way")
	hide("false")
	b.click("button|Turn off in this browser")
	b.see("Turn on in this browser")
	hide("true")
	equal(t, "listening after it was turned off", eval[bool](b,
		`navigator.locks.query().then(l => l.held.some(l => l.name === "taskyard-notify"))`), false)
}
