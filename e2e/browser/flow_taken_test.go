package browser

import (
	"testing"

	"taskyard/task"
)

func TestARefusalIsToldWhereALiveUpdateTookTheForm(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.create(task.New{Title: "Claimed", Owner: "scout"})
	must(y.svc.Signup(ctx, task.Actor{Name: "scout", Role: task.RoleAgent}, "scout", 1))
	b := y.tab()
	b.expect("409")
	b.open(path(tk.ID, ""))
	b.live()
	release := y.forms.hold()
	b.click("#task-menu summary")
	b.click("button|Release claim")
	must(y.svc.ReleaseClaim(ctx, y.maya, tk.ID, 0))
	b.wait(`![...document.forms].some(f => f.action.endsWith("/release"))`)
	release()
	b.see("not in working status")
}
