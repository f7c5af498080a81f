package browser

import (
	"testing"

	"taskyard/task"
)

func TestARefusalIsShownAfterALiveUpdateRemovedTheForm(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Claimed", Owner: "scout"})
	must(inst.svc.Signup(ctx, task.Actor{Name: "scout", Role: task.RoleAgent}, "scout", 1))
	b := inst.tab()
	b.expect("409")
	b.open(path(tk.ID, ""))
	b.live()
	release := inst.forms.hold()
	b.click("#task-menu summary")
	b.click("button|Release claim")
	must(inst.svc.ReleaseClaim(ctx, inst.maya, tk.ID, 0))
	b.wait(`![...document.forms].some(f => f.action.endsWith("/release"))`)
	release()
	b.see("not in working status")
}
