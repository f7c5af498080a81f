package browser

import (
	"testing"

	"taskyard/task"
)

var scout = task.Actor{Name: "scout", Role: task.RoleAgent}

// asked is a task of an agent that Taskyard starts, with an open question.
func (y *instance) asked(title, question string) (*task.Task, string) {
	y.t.Helper()
	tk := y.create(task.New{Title: title})
	m := must(y.svc.Ask(ctx, task.Actor{Name: "coder", Role: task.RoleAgent}, tk.ID, question, false))
	return tk, "#answer-" + m.ID.String()
}

// answerInPlace is what a person does first of all, with and without scripts.
func answerInPlace(y *instance, b *tab) {
	y.t.Helper()
	tk, area := y.asked("Choose the way", "North or **south**?")
	note := y.create(task.New{Title: "Watch the gate", Owner: "scout"})
	must(y.svc.Notify(ctx, scout, note.ID, "The gate is shut."))
	b.open("/")
	b.see("North or south?")
	equal(y.t, "title", eval[string](b, `document.title`), "(2) Inbox · Taskyard")
	b.fill(area, "South, by the river.")
	b.press("button|Answer")
	b.at("/")
	b.gone("North or south?")
	agent := y.stage.agent(y.t, tk.ID) // the answer woke it
	equal(y.t, "open question", y.task(tk.ID).QuestionID, 0)
	b.see("The gate is shut.")
	b.press("button|Acknowledge")
	b.at("/")
	b.gone("The gate is shut.")
	b.see("Inbox is empty")
	equal(y.t, "title", eval[string](b, `document.title`), "Inbox · Taskyard")
	agent.say("exit")
}

func TestAnswerInPlaceWakesTheOwner(t *testing.T) {
	t.Parallel()
	y := newWakingInstance(t)
	answerInPlace(y, y.tab())
}

func TestAnswerInPlaceWithoutScripts(t *testing.T) {
	t.Parallel()
	y := newWakingInstance(t)
	b := newTab(t, y.url).withoutScripts()
	y.signIn(b)
	answerInPlace(y, b)
}

func TestTheInboxMovesByItselfAndKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	first, area := y.asked("First", "Red?")
	b := y.tab()
	b.open("/")
	b.live()
	b.click(area)
	b.insert("half an ans")
	second, _ := y.asked("Second", "Green?")
	b.see("Green?")
	b.wait(`document.title.startsWith("(2) ")`)
	equal(t, "typed", b.value(area), "half an ans")
	equal(t, "focus", eval[string](b, `"#" + document.activeElement.id`), area)
	must(y.svc.Reply(ctx, y.maya, second.ID, "yes"))
	b.gone("Green?")
	equal(t, "typed", b.value(area), "half an ans")
	b.press("button|Answer")
	b.gone("Red?")
	equal(t, "answer", y.task(first.ID).Comments[1].Content, "half an ans")
}

func TestEveryPageCountsWhatWaits(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	b := y.tab()
	b.open("/tasks/new")
	loaded := eval[float64](b, `performance.timeOrigin`)
	b.fill("#title", "Just a thought")
	y.asked("Ask", "Well?")
	b.wait(`document.title.startsWith("(1) ")`)
	b.wait(`document.querySelector("#nav .hot")?.textContent.startsWith("1")`)
	equal(t, "typed", b.value("#title"), "Just a thought")
	equal(t, "loaded again", eval[float64](b, `performance.timeOrigin`) != loaded, false)
}

func TestPauseStopAndResumeFromTheScheduler(t *testing.T) {
	t.Parallel()
	y := newWakingInstance(t)
	running := y.create(task.New{Title: "Runs on"})
	y.ask(running.ID)
	y.stage.agent(t, running.ID)
	b, other := y.tab(), y.tab()
	other.open("/tasks/new") // a page without live parts of its own
	b.open("/scheduler")
	b.press("a|Stop everything")
	b.see("1 run will be stopped")
	b.fill("#reason", "A key leaked.")
	b.press("button|Stop 1 run and pause")
	b.at("/scheduler")
	b.see("Taskyard is paused")
	other.see("A key leaked.")
	equal(t, "status", must(y.svc.Runs(ctx, y.maya, task.RunFilter{TaskID: running.ID, Limit: 1}))[0].Status, task.RunCanceled)
	other.press("#frame button|Restart the 1 stopped run")
	other.at("/tasks/new")
	restarted := y.stage.agent(t, running.ID)
	other.gone("Taskyard is paused")
	b.gone("Taskyard is paused")
	b.press("a|Pause…")
	b.fill("#reason", "Lunch.")
	b.press("button|Pause Taskyard")
	b.see("Lunch.")
	tk := y.create(task.New{Title: "Comes later"})
	must(y.svc.Comment(ctx, y.maya, tk.ID, "Continue when you can."))
	b.see("Comes later") // queued, and stays so
	b.press("#frame button|Resume")
	_ = restarted.conn.Close() // its agent runs one task at a time
	y.stage.agent(t, tk.ID)
}

func TestPauseAnAgentWithoutScripts(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	b := newTab(t, y.url).withoutScripts()
	y.signIn(b)
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
