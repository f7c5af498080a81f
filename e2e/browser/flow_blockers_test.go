package browser

import (
	"testing"

	"taskyard/task"
)

func TestATaskIsBlockedAndFreedUnderOnesEyes(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*tab) *tab{
		"with scripts":    func(b *tab) *tab { return b },
		"without scripts": (*tab).withoutScripts,
	} {
		t.Run(name, func(t *testing.T) {
			y := newInstance(t)
			first, k := y.create(task.New{Title: "Draw the plan"}).ID, y.create(task.New{Title: "Build it"}).ID
			b := how(y.tab())
			b.open(path(k, ""))
			b.click(`summary|Edit blockers`)
			b.fill("#taskIds", "#"+first.String())
			b.press("button|Set")
			b.see("which must be done first")
			equal(t, "waits for", y.task(k).WaitingFor, task.WaitsTasks)
			must(y.svc.CompleteTask(ctx, y.maya, first, "", 0))
			if name == "without scripts" {
				b.open(path(k, ""))
			}
			b.see("nothing blocks it now")
			b.wait(`!document.querySelector('.why').innerText.includes('#')`)
		})
	}
}
