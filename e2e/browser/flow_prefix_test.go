package browser

import (
	"testing"

	"taskyard/task"
)

// TestScriptsWorkBelowAPath tests with scripts what a crawl of links cannot: the tab
// fails on every address that does not exist.
func TestScriptsWorkBelowAPath(t *testing.T) {
	t.Parallel()
	inst := openInstanceBelow(t, "/team/tasks", agentFiles).peopled()
	tk := inst.create(task.New{Title: "There before", Owner: "keeper"})
	r := inst.ask(tk.ID)
	b := newTab(t, inst.url)
	b.open("/login/link?token=" + must(inst.svc.SignInLink(ctx, inst.maya.UserID)))
	b.press("button|Sign in")
	b.at("/team/tasks/")
	b.open("/queues")
	b.see("There before")
	other := inst.create(task.New{Title: "Came while the board was open", Owner: "scout"})
	b.see("Came while the board was open") // through the stream
	b.open("/approvals/" + r.ID.String())
	b.awaitSeen()
	b.loads(typed("a"))
	b.see("Run 1 approved.")
	b.open(path(other.ID, ""))
	must(inst.svc.Comment(ctx, inst.maya, other.ID, "Said while the page was open."))
	b.see("Said while the page was open.")
	inst.stage.agent(t, tk.ID).say("exit")
}
