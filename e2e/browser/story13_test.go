package browser

import (
	"testing"

	"taskyard/task"
)

// TestStory13ConcurrentDecisions has a reviewer sign out in one tab while deciding in
// another, and two reviewers decide at the same time. There is one outcome, and both
// see it.
func TestStory13ConcurrentDecisions(t *testing.T) {
	inst := newInstance(t)
	must(inst.svc.AddUser(ctx, inst.maya, "rita", password, task.RoleReviewer))
	signIn := func(b *tab, name string) {
		b.fill("#name", name)
		b.fill("#password", password)
		b.press("button|Sign in")
	}
	t.Run("after a sign-out in one tab, a decision in the other is refused, with the reason", func(t *testing.T) {
		r := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
		deciding := inst.tab()
		deciding.expect("401", "403")
		deciding.open("/approvals/" + r.ID.String())
		deciding.awaitSeen()
		other := deciding.beside()
		other.open("/")
		other.press("button|Sign out")
		other.at("/login")
		deciding.click("#approve button")
		deciding.see("Your session has ended.")
		deciding.press("#toasts a|Sign in")
		deciding.at("/login")
		equal(t, "decision", inst.decided(r.ID), "")
		signIn(deciding, "maya")
		deciding.open("/approvals/" + r.ID.String())
		deciding.see("Restart the mail server")
		equal(t, "decision after signing in again", inst.decided(r.ID), "")
		deciding.awaitSeen()
		deciding.press("#approve button")
		equal(t, "decision", inst.decided(r.ID), "approved")
	})
	t.Run("two concurrent decisions have one outcome, and both people see it", func(t *testing.T) {
		r := inst.ask(inst.create(task.New{Title: "Rotate the keys", Owner: "keeper"}).ID)
		maya, rita := inst.tab(), newTab(t, inst.url)
		maya.expect("409")
		rita.expect("409")
		rita.open("/login")
		signIn(rita, "rita")
		at := "/approvals/" + r.ID.String()
		for _, b := range []*tab{maya, rita} {
			b.open(at)
			b.live()
			b.click("[data-live-pill]") // changes of the other do not arrive here until the response
			b.wait(`document.querySelector("[data-live-pill]").textContent === "Paused"`)
			b.awaitSeen()
		}
		rita.click("[data-reject]")
		rita.wait(`document.activeElement?.id === "reason"`)
		rita.insert("Not on a Friday.")
		maya.click("#approve button") // neither waits for the other's response
		rita.click("button|Reject the run")
		inst.until("there is a decision", func() bool { return inst.decided(r.ID) != "" })
		if inst.decided(r.ID) == "approved" {
			maya.see("approved.")
			rita.see("Your rejection was too late; nothing changed.")
			rita.see("maya approved this run")
		} else {
			rita.see("rejected")
			maya.see("Your approval was too late; nothing changed.")
			maya.see("rita rejected this run")
		}
		n := 0
		for _, e := range must(inst.svc.Events(ctx, inst.maya, task.EventFilter{TaskID: r.TaskID, Limit: 100})) {
			if e.Kind == task.EvRunHeld {
				n++
			}
		}
		equal(t, "decisions", n, 1)
	})
	t.Run("a person who was just led to the next request does not decide it", func(t *testing.T) {
		first, next := inst.ask(inst.create(task.New{Title: "Restart the web server", Owner: "keeper"}).ID),
			inst.ask(inst.create(task.New{Title: "Delete the backups", Owner: "keeper"}).ID)
		b := inst.tab()
		b.open("/approvals/" + first.ID.String())
		b.awaitSeen()
		b.preload(`addEventListener("DOMContentLoaded", () => document.querySelector("#approve button")?.click())`)
		b.press("#approve button")
		b.see("this request only just came into view")
		equal(t, "decision on the first", inst.decided(first.ID), "approved")
		equal(t, "decision on the next", inst.decided(next.ID), "")
	})
}
