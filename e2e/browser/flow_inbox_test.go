package browser

import (
	"testing"

	"taskyard/task"
)

var scout = task.Actor{Name: "scout", Role: task.RoleAgent}

// asked creates a task with an open question, whose agent Taskyard starts.
func (inst *instance) asked(title, question string) (*task.Task, string) {
	inst.t.Helper()
	tk := inst.create(task.New{Title: title})
	m := must(inst.svc.Ask(ctx, task.Actor{Name: "coder", Role: task.RoleAgent}, tk.ID, question, false))
	return tk, "#answer-" + m.ID.String()
}

// answerInPlace is a basic flow, with and without scripts.
func answerInPlace(inst *instance, b *tab) {
	inst.t.Helper()
	tk, area := inst.asked("Choose the way", "North or **south**?")
	note := inst.create(task.New{Title: "Watch the gate", Owner: "scout"})
	must(inst.svc.Notify(ctx, scout, note.ID, "The gate is shut."))
	b.open("/")
	b.see("North or south?")
	equal(inst.t, "title", eval[string](b, `document.title`), "(2) Inbox · Taskyard")
	b.fill(area, "South, by the river.")
	b.press("button|Answer")
	b.at("/")
	b.gone("North or south?")
	agent := inst.stage.agent(inst.t, tk.ID) // woken by the answer
	equal(inst.t, "open question", inst.task(tk.ID).QuestionID, 0)
	b.see("The gate is shut.")
	b.press("button|Acknowledge")
	b.at("/")
	b.gone("The gate is shut.")
	b.see("Inbox is empty")
	equal(inst.t, "title", eval[string](b, `document.title`), "Inbox · Taskyard")
	agent.say("exit")
}

func TestAnswerInPlaceWakesTheOwner(t *testing.T) {
	t.Parallel()
	inst := newWakingInstance(t)
	answerInPlace(inst, inst.tab())
}

func TestAnswerInPlaceWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newWakingInstance(t)
	b := newTab(t, inst.url).withoutScripts()
	inst.signIn(b)
	answerInPlace(inst, b)
}

func TestTheInboxUpdatesAndKeepsTypedText(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	first, area := inst.asked("First", "Red?")
	b := inst.tab()
	b.open("/")
	b.live()
	b.click(area)
	b.insert("half an ans")
	second, _ := inst.asked("Second", "Green?")
	b.see("Green?")
	b.wait(`document.title.startsWith("(2) ")`)
	equal(t, "typed", b.value(area), "half an ans")
	equal(t, "focus", eval[string](b, `"#" + document.activeElement.id`), area)
	must(inst.svc.Reply(ctx, inst.maya, second.ID, "yes"))
	b.gone("Green?")
	equal(t, "typed", b.value(area), "half an ans")
	b.press("button|Answer")
	b.gone("Red?")
	equal(t, "answer", inst.task(first.ID).Comments[1].Content, "half an ans")
}

func TestEveryPageShowsTheInboxCount(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/tasks/new")
	loaded := eval[float64](b, `performance.timeOrigin`)
	b.fill("#title", "Just a thought")
	inst.asked("Ask", "Well?")
	b.wait(`document.title.startsWith("(1) ")`)
	b.wait(`document.querySelector("#nav .hot")?.textContent.startsWith("1")`)
	equal(t, "typed", b.value("#title"), "Just a thought")
	equal(t, "reloaded", eval[float64](b, `performance.timeOrigin`) != loaded, false)
}

func TestPauseStopAndResumeFromTheScheduler(t *testing.T) {
	t.Parallel()
	inst := newWakingInstance(t)
	running := inst.create(task.New{Title: "Runs on"})
	inst.ask(running.ID)
	inst.stage.agent(t, running.ID)
	b, other := inst.tab(), inst.tab()
	other.open("/tasks/new") // a page without live parts
	b.open("/scheduler")
	b.press("a|Stop everything")
	b.see("1 run will be stopped")
	b.fill("#reason", "A key leaked.")
	b.press("button|Stop 1 run and pause")
	b.at("/scheduler")
	b.see("Taskyard is paused")
	other.see("A key leaked.")
	equal(t, "status", must(inst.svc.Runs(ctx, inst.maya, task.RunFilter{TaskID: running.ID, Limit: 1}))[0].Status, task.RunCanceled)
	other.press("#frame button|Restart the 1 stopped run")
	other.at("/tasks/new")
	restarted := inst.stage.agent(t, running.ID)
	other.gone("Taskyard is paused")
	b.gone("Taskyard is paused")
	b.press("a|Pause…")
	b.fill("#reason", "Lunch.")
	b.press("button|Pause Taskyard")
	b.see("Lunch.")
	tk := inst.create(task.New{Title: "Comes later"})
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Continue when you can."))
	b.see("Comes later") // queued, and stays queued
	b.press("#frame button|Resume")
	_ = restarted.conn.Close() // its agent runs one task at a time
	inst.stage.agent(t, tk.ID)
}

func TestPauseAnAgentWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := newTab(t, inst.url).withoutScripts()
	inst.signIn(b)
	b.open("/agents/coder")
	b.press("a|Pause…")
	b.fill("#reason", "It broke the build.")
	b.press("button|Pause coder")
	b.at("/agents/coder")
	b.see("It broke the build.")
	b.press("#agent-main button|Resume")
	b.at("/agents/coder")
	b.gone("It broke the build.")
}
