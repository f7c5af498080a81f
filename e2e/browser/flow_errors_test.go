package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Polish the lamp", Owner: "scout"})
	b := inst.tab()
	b.expect("404", "403", "409", "413", "422")
	t.Run("404 offers a search", func(t *testing.T) {
		b.open("/nothing/here")
		b.see("Page not found")
		b.fill("input[name=q]", "lamp")
		b.press("main button|Search")
		b.see("Polish the lamp")
	})
	t.Run("403 says who is allowed", func(t *testing.T) {
		u := must(inst.svc.AddUser(ctx, task.SystemActor, "vera", password, task.RoleViewer))
		v := newTab(t, inst.url)
		v.expect("403")
		(&instance{t: t, svc: inst.svc, url: inst.url, maya: task.Actor{UserID: u.ID}}).signIn(v)
		v.open("/tasks/new")
		v.see("operators, reviewers and admins")
		v.open("/settings/people")
		v.see("This is for admins.")
	})
	t.Run("409 shows the current state", func(t *testing.T) {
		b.open(path(tk.ID, "/cancel"))
		must(inst.svc.CompleteTask(ctx, inst.maya, tk.ID, "Done meanwhile.", 0))
		b.press("main button|Cancel this task")
		b.wait(`document.querySelector("[role=alert]")`)
		b.see("Done meanwhile.")
	})
	t.Run("413 says what the limit is", func(t *testing.T) {
		b.open("/tasks/new")
		eval[chromedp.Void](b, `void (document.querySelector("#title").value = "x", document.querySelector("#description").value = "x".repeat(1100000))`)
		b.choose("#owner", "scout")
		b.press("button|Create task")
		b.see("Request too large")
		b.see("Send less at once")
	})
	t.Run("signing in after an ended session returns to the page", func(t *testing.T) {
		lone := newTab(t, inst.url)
		lone.open("/tasks?q=lamp")
		lone.at("/login")
		lone.see("return to the page")
		lone.fill("#name", "maya")
		lone.fill("#password", password)
		lone.press("button|Sign in")
		lone.at("/tasks")
		if q := eval[string](lone, `location.search`); !strings.Contains(q, "lamp") {
			t.Errorf("got query %q", q)
		}
	})
}
