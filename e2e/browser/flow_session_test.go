package browser

import (
	"testing"

	"taskyard/service"
	"taskyard/task"
)

func TestTheOneTimeLinkCreatesTheFirstAdmin(t *testing.T) {
	t.Parallel()
	inst := openInstance(t, agentFiles)
	b := newTab(t, inst.url)
	b.open("/setup?token=" + must(inst.svc.SetupLink(ctx)))
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.fill("#password2", "something else entirely")
	b.expect("422")
	b.press("button|Create account")
	b.see("Is not the same as the first")
	b.fill("#password", password)
	b.fill("#password2", password)
	b.press("button|Create account")
	b.at("/")
	b.press("button|Sign out")
	b.at("/login")
	b.fill("#name", "maya")
	b.fill("#password", "not the password")
	b.expect("401")
	b.press("button|Sign in")
	b.see("Wrong name or password")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.at("/")
}

// The tabs of a browser share one stream: if it is refused, each of them says why.
func TestEveryTabSaysThatTheSessionHasEnded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watched by two", Owner: "scout"})
	ben := must(inst.svc.AddUser(ctx, inst.maya, "ben", password, task.RoleReviewer))
	b := newTab(t, inst.url)
	b.open("/login")
	b.fill("#name", "ben")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.open(path(tk.ID, ""))
	b.fill("#comment", "Half a thought")
	tabs := []*tab{b, b.beside()}
	tabs[1].open("/queues")
	for _, n := range tabs {
		n.live()
		n.expect("401")
	}
	viewer := task.RoleViewer
	must(inst.svc.UpdateUser(ctx, inst.maya, ben.ID, service.UserChange{Role: &viewer}))
	for _, n := range tabs {
		n.see("Your session has ended")
	}
	equal(t, "typed", b.value("#comment"), "Half a thought")
}

func TestAPasswordIsTypedOnceWhereAnotherFieldIsWrong(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.expect("409", "422")
	b.open("/settings/people")
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.press("button|Add person")
	b.wait(`document.querySelector("#name-err")`)
	b.focused(`e.id === "name"`)
	equal(t, "the password", b.value("#password"), password)
	b.fill("#name", "vera")
	b.press("button|Add person")
	b.see("Added vera")
	equal(t, "the password of the added person", b.value("#password"), "")

	b.open("/settings")
	b.fill("#current", "wrong")
	b.fill("#password", "another "+password)
	b.press("button|Change password")
	b.wait(`document.querySelector("#current-err")`)
	b.focused(`e.id === "current"`)
	equal(t, "the wrong password", b.value("#current"), "")
	equal(t, "the new password", b.value("#password"), "another "+password)
}

func TestDisablingAPersonIsConfirmed(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ben := must(inst.svc.AddUser(ctx, inst.maya, "ben", password, task.RoleReviewer))
	b := inst.tab()
	b.open("/settings/people")
	row := "#user-" + ben.ID.String() + " "
	b.click(row + "summary|Disable")
	b.see("their tokens are revoked for good")
	equal(t, "disabled before it is confirmed", must(inst.svc.Users(ctx, inst.maya))[0].DisabledAt != 0, false)
	b.press(row + "button|Disable ben")
	b.see("Saved ben")
	b.focused(`e.matches("[aria-label='Enable ben']")`)
}
