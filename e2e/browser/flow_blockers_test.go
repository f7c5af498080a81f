package browser

import (
	"testing"

	"taskyard/task"
)

func TestATaskIsBlockedAndUnblockedOnItsPage(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*tab) *tab{
		"with scripts":    func(b *tab) *tab { return b },
		"without scripts": (*tab).withoutScripts,
	} {
		t.Run(name, func(t *testing.T) {
			inst := newInstance(t)
			first, k := inst.create(task.New{Title: "Draw the plan"}).ID, inst.create(task.New{Title: "Build it"}).ID
			b := how(inst.tab())
			b.open(path(k, ""))
			b.click(`summary|Edit blockers`)
			b.fill("#taskIds", "#"+first.String())
			b.press("button|Set")
			b.see("which must be done first")
			equal(t, "waits for", inst.task(k).WaitingFor, task.WaitsTasks)
			must(inst.svc.CompleteTask(ctx, inst.maya, first, "", 0))
			if name == "without scripts" {
				b.open(path(k, ""))
			}
			b.see("nothing blocks it now")
			b.wait(`!document.querySelector('.why').innerText.includes('#')`)
		})
	}
}
