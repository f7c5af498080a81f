package browser

import (
	"testing"

	"taskyard/task"
)

func TestADecisionInAnotherTabCanBeUndoneOnlyInTime(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	run := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	tk := inst.create(task.New{Title: "Talked about", Owner: "scout"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.fill("#comment", "Said meanwhile")
	must(inst.svc.DenyRun(ctx, inst.maya, run.ID, "No.", task.UndoWindow))
	b.press("#comment-form button")
	b.wait(`document.querySelector("#toasts .toast[data-until]")`)
	b.wait(`/^Undo \(\d s\)$/.test(document.querySelector("#toasts [data-left]")?.textContent)`)
	equal(t, "live", b.text(`#toasts [data-left][aria-live="off"]`) != "", true) // nobody wants to hear each second
	b.wait(`!document.querySelector("#toasts .toast[data-until]")`)
}
