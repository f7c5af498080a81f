package browser

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestApproveARunAndSeeItsTranscriptArrive(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"})
	r := inst.ask(tk.ID)
	b := inst.tab()
	b.open("/approvals")
	b.see("Restart the mail server")
	b.awaitSeen()
	b.press("#approve button")
	agent := inst.stage.agent(t, tk.ID)
	b.open("/runs/" + r.ID.String())
	b.live()
	loaded := eval[float64](b, `performance.timeOrigin`)
	agent.say("Looking at the queue of mails.")
	b.see("Looking at the queue of mails.")
	agent.say(`{"type":"tool_call","text":"systemctl status","data":{"tool":"bash","input":{"command":"systemctl status postfix"}}}`)
	b.see("bash")
	agent.say("Restarted <b>it</b>.")
	b.see("Restarted <b>it</b>.")
	agent.say(`{"summary":"The mail server runs again.","success":true}`)
	agent.say("exit")
	b.see("The mail server runs again.")
	b.wait(`document.querySelector("#run-head").innerText.toLowerCase().includes("completed")`)
	equal(t, "page was reloaded", eval[float64](b, `performance.timeOrigin`) != loaded, false)
	equal(t, "duplicate items", eval[int](b, `(ids => ids.length - new Set(ids).size)([...document.querySelectorAll("#transcript > li")].map(e => e.id))`), 0)
	equal(t, "cancel is offered", eval[bool](b, `!!document.querySelector(".when-open")?.checkVisibility()`), false)
}

func TestRejectARunWithAReason(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Delete everything", Owner: "keeper"})
	r := inst.ask(tk.ID)
	b := inst.tab()
	b.open("/approvals/" + r.ID.String())
	b.keys("r")
	b.wait(`document.activeElement?.id === "reason"`)
	b.insert("Not on a Friday.")
	b.press("button|Reject the run")
	equal(t, "decision", inst.decided(r.ID), "denied")
	inst.until("it takes effect", func() bool { return must(inst.svc.Run(ctx, inst.maya, r.ID)).Status.Final() })
	got := must(inst.svc.Run(ctx, inst.maya, r.ID))
	equal(t, "reason", got.Approval.Reason, "Not on a Friday.")
	b.open("/approvals/" + r.ID.String())
	b.see("Not on a Friday.")
}

func TestAFailedRunShowsWhyAndIsRetried(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Fails at first"})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.press("button|Run now")
	agent := inst.stage.agent(t, tk.ID)
	b.wait(`document.querySelector("#task-bar .pill:not([data-live-pill])")?.textContent.includes("Working")`)
	agent.say("fail")
	b.see("Run 1 failed")
	runs := must(inst.svc.Runs(ctx, inst.maya, task.RunFilter{TaskID: tk.ID, Status: task.RunFailed, Limit: 10}))
	equal(t, "failed runs", len(runs), 1)
	b.open("/runs/" + runs[0].ID.String())
	b.see("the scripted agent gives up")
	b.see("retried as run 2")
}

func TestStopARunFromItsTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Runs too long"})
	r := inst.ask(tk.ID)
	inst.stage.agent(t, tk.ID)
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.press("button|Stop run")
	b.wait(`!document.querySelector("#task-bar .pill.run:not([data-live-pill])")`)
	equal(t, "status", must(inst.svc.Run(ctx, inst.maya, r.ID)).Status, task.RunCanceled)
}

func TestTheMainFlowsWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := newTab(t, inst.url).withoutScripts()
	b.open("/login")
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.at("/")
	b.open("/queues")
	newTaskByForm(b)
	tk := inst.open()[0]
	b.press("#step-0 form button")
	equal(t, "ticked", inst.task(tk.ID).Steps[0].Done, true)
	b.see("1 of 2")
	b.fill("#comment", "No scripts here.")
	b.press("#comment-form button")
	b.see("No scripts here.")
	b.press("a|Move")
	b.choose("#to", "keeper")
	b.fill("#comment", "Yours.")
	b.press("button|Move")
	b.see("Yours.")
	b.press("button|Run now")
	b.press("a|Review run")
	b.awaitSeen()
	b.press("#approve button")
	agent := inst.stage.agent(t, tk.ID)
	agent.say("Here I am.")
	agent.say("exit")
	r := must(inst.svc.Runs(ctx, inst.maya, task.RunFilter{TaskID: tk.ID, Limit: 1}))[0]
	inst.until("the run ends", func() bool {
		return must(inst.svc.Run(ctx, inst.maya, r.ID)).Status.Final()
	})
	b.open("/runs/" + r.ID.String())
	b.see("Here I am.")
	if !strings.Contains(b.text("main"), "ompleted") {
		b.fatalf("not shown as completed")
	}
}
