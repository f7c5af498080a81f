package browser

import (
	"testing"

	"taskyard/task"
)

func TestADecisionOfAnotherTabIsOfferedForUndoOnlyWhileItCanBe(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	run := y.ask(y.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	tk := y.create(task.New{Title: "Talked about", Owner: "scout"})
	b := y.tab()
	b.open(path(tk.ID, ""))
	b.fill("#comment", "Said meanwhile")
	must(y.svc.DenyRun(ctx, y.maya, run.ID, "No.", task.UndoWindow))
	b.press("#comment-form button")
	b.wait(`document.querySelector("#toasts .toast[data-until]")`)
	b.wait(`/^Undo \(\d s\)$/.test(document.querySelector("#toasts [data-left]")?.textContent)`)
	b.wait(`!document.querySelector("#toasts .toast[data-until]")`)
}
