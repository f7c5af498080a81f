package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

func TestANewTaskIsCreatedInADialog(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "What is looked at"})
	b := inst.tab()
	shown := `document.querySelector("#new-task[open]") && document.activeElement.name === "title"`
	t.Run("on any page, and typed text survives Escape and the page", func(t *testing.T) {
		for i, p := range []string{"/queues", "/history", path(tk.ID, "")} {
			b.open(p)
			b.keys("c")
			b.wait(shown)
			if i == 0 {
				b.insert("Half a title")
			}
			b.keys(kb.Escape)
			b.wait(`!document.querySelector("#new-task[open]") && !document.activeElement.closest("#new-task")`)
			b.keys("c")
			b.wait(shown)
			equal(t, "title on "+p, b.value("#new-title"), "Half a title")
		}
		equal(t, "duplicate IDs", eval[string](b,
			`[...document.querySelectorAll("#new-task [id]")].map(e => e.id).filter(id => document.querySelectorAll("#" + id).length > 1).join()`), "")
	})
	t.Run("the preview of the description can be repeated", func(t *testing.T) {
		for _, word := range []string{"one", "two"} {
			b.fill("#new-description", "**"+word+"**")
			b.click("#new-task button|Preview")
			b.wait(`document.querySelector("#new-task .markdown strong")?.textContent === ` + quote(word))
		}
	})
	t.Run("a refusal is shown on the page of the form, with every input", func(t *testing.T) {
		b.expect("422")
		b.open("/queues")
		b.click("[data-new-task]")
		b.wait(shown)
		b.fill("#new-title", "A good title")
		b.choose("#new-owner", "scout")
		b.fill("#new-labels", "Wrong label")
		b.press("#new-task button|Create task")
		equal(t, "title", b.value("#title"), "A good title")
		b.wait(`document.querySelector("#labels-err")`)
		b.wait(`document.activeElement?.id === "labels"`) // the browser sets the focus when it first draws the page
	})
	t.Run("an accepted form leads to its task, and back to a page without the dialog", func(t *testing.T) {
		b.open("/queues")
		b.keys("c")
		b.wait(shown)
		equal(t, "refused labels that were not corrected", b.value("#new-labels"), "Wrong label")
		b.fill("#new-labels", "fits")
		b.fill("#new-title", "A task from afar")
		b.choose("#new-owner", "scout")
		b.press("#new-task button|Create task")
		b.see("A task from afar")
		b.at("/tasks/2")
		b.open("/queues")
		b.see("A task from afar")
	})
	t.Run("a narrow window opens the page", func(t *testing.T) {
		b.size(390, 844)
		b.open("/queues")
		b.press("[data-new-task]")
		b.at("/tasks/new")
	})
}
