package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// entries counts the visible entries of the stream.
const entries = `document.querySelectorAll(".feed > li[id]").length`

// talked creates a task with n comments: "Word 1." and so on.
func (inst *instance) talked(n int) *task.Task {
	inst.t.Helper()
	tk := inst.create(task.New{Title: "Much was said"})
	for i := range n {
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, fmt.Sprintf("Word %d.", i+1)))
	}
	return tk
}

func TestTheStreamIsPagedUpwards(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.talked(120)
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	b.seeNot("Word 70.")
	b.click("a|Show earlier")
	b.see("Word 70.")
	b.seeNot("Word 20.")
	b.click("a|Show earlier")
	b.see("Word 20.")
	b.wait(entries + ` === 121 && !document.querySelector("[data-earlier]")`)
	t.Run("new entries do not remove loaded ones", func(t *testing.T) {
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Word 121."))
		b.see("Word 121.")
		equal(t, "entries", eval[int](b, entries), 122)
		equal(t, "order", eval[bool](b, `(l => l.every((n, i) => !i || l[i-1] < n))([...document.querySelectorAll(".feed > li[id^=msg]")].map(e => +e.id.slice(4)))`), true)
	})
	t.Run("an old entry can be opened by its address", func(t *testing.T) {
		first := inst.task(tk.ID).Comments[2].ID.String()
		b.open("/queues")
		b.open(path(tk.ID, "#msg-"+first))
		b.wait(`document.querySelector("#msg-` + first + `:target")?.getBoundingClientRect().top > 0`)
	})
	t.Run("each kind can be shown separately", func(t *testing.T) {
		b.open(path(tk.ID, ""))
		b.press(".shows a|Changes")
		b.wait(entries + ` === 1`)
		b.see("created this task")
		b.press(".shows a|Comments")
		b.seeNot("created this task")
		b.see("Word 121.")
		b.press(".shows a|Runs")
		b.see("No runs yet")
	})
	t.Run("without scripts the pages follow each other", func(t *testing.T) {
		b := inst.tab().withoutScripts()
		b.open(path(tk.ID, ""))
		b.press("a|Show earlier")
		b.see("Word 70.")
		b.seeNot("Word 100.")
		b.press("a|Show earlier")
		b.see("Word 20.")
		b.press("a|To the latest")
		b.see("Word 121.")
	})
}

func TestADraftSurvivesAReload(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Half said"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.live()
	b.click("#comment")
	b.insert("Half a thought")
	b.loads(chromedp.Reload())
	equal(t, "draft", b.value("#comment"), "Half a thought")
	b.live()
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Somebody else."))
	b.see("Somebody else.")
	equal(t, "draft after a live change", b.value("#comment"), "Half a thought")
	b.press("#comment-form button")
	b.wait(`document.querySelector("#feed")?.innerText.includes("Half a thought")`)
	equal(t, "composer", b.value("#comment"), "")
	b.loads(chromedp.Reload())
	equal(t, "composer after a reload", b.value("#comment"), "")
	equal(t, "comments", len(inst.task(tk.ID).Comments), 2)

	t.Run("a refused comment is kept", func(t *testing.T) {
		b.expect("422")
		b.fill("#comment", "Keep me")
		eval[chromedp.Void](b, `void (document.querySelector("#comment-form [name=_key]").value = "")`)
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "x"))
		b.fill("#comment", "   ")
		b.press("#comment-form button")
		b.wait(`document.querySelector("#comment-err")`)
		equal(t, "draft", eval[string](b, `localStorage.getItem(Object.keys(localStorage).find(k => k.startsWith("draft:maya:/tasks/`+
			tk.ID.String()+`/comments:"))).replace(/^\S+ /, "")`), "   ")
	})
	t.Run("signing out leaves no draft behind", func(t *testing.T) {
		b.fill("#comment", "Private")
		equal(t, "drafts", eval[int](b, `Object.keys(localStorage).filter(k => k.startsWith("draft:")).length`), 1)
		b.expect("401") // the stream that the page is opening may end with the session
		b.press(".side-foot form button")
		equal(t, "drafts", eval[int](b, `Object.keys(localStorage).filter(k => k.startsWith("draft:")).length`), 0)
	})
}
