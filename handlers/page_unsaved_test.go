package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// typedText is typed by a person; no page contains it otherwise.
const typedText = "Half an hour of careful words"

func TestTypedTextIsReturnedWhenItsFormIsGone(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{
		Title: "Gone", Owner: "coder", Steps: []task.Step{{Title: "Do"}},
		Resources: []task.Resource{{Type: "url", Value: "https://example.com/a"}},
	})
	at := "/tasks/" + tk.ID.String()
	_, err := inst.svc.CancelTask(context.Background(), mayaActor, tk.ID, "not needed")
	inst.ok(err)
	for _, form := range []struct{ says, path, fields string }{
		{"a comment", "/comments", "content=*"},
		{"an answer", "/reply", "content=*"},
		{"the title", "/edit", "field=title|title=*"},
		{"the description", "/edit", "field=description|description=*"},
		{"a new step", "/steps", "title=*"},
		{"a step", "/steps/0", "inline=1|title=Do|details=*"},
		{"a link", "/resources", "type=url|value=https://example.com/b|label=*"},
		{"a changed link", "/resources/0", "had=x|value=https://example.com/b|label=*"},
		{"a summary", "/complete", "summary=*"},
		{"the reason of a cancel", "/cancel", "reason=*"},
		{"a hand-over", "/move", "from=coder|to=planner|comment=*"},
		{"a subtask", "/steps/0/subtask", "title=Part|owner=planner|description=*"},
	} {
		t.Run("of "+form.says+" on a task archived meanwhile", func(t *testing.T) {
			var pairs []string
			for f := range strings.SplitSeq(form.fields, "|") {
				name, value, _ := strings.Cut(f, "=")
				pairs = append(pairs, name, strings.ReplaceAll(value, "*", typedText))
			}
			b.post(at+form.path, pairs...).is(409).shows(typedText)
		})
	}
	t.Run("of the page that edits an archived task, which is not offered to be saved", func(t *testing.T) {
		b.post(at+"/edit", "version", "1", "title", typedText, "description", "", "owner", "coder", "priority", "5").is(409).
			shows(typedText, "read-only", "create a follow-up").hides("saving it now replaces")
		b.post(at+"/checks", "version", "1", "act", "save").is(409).shows("read-only", "data-problem")
	})
	t.Run("of an answer to an answered question", func(t *testing.T) {
		open := inst.newTask(mayaActor, task.New{Title: "Open", Owner: "coder"})
		b.post("/tasks/"+open.ID.String()+"/reply", "content", typedText).is(409).shows(typedText)
	})
	t.Run("of a reason for an ended run", func(t *testing.T) {
		open := inst.newTask(mayaActor, task.New{Title: "Asked", Owner: "reviewer"})
		r, err := inst.svc.RunNow(context.Background(), mayaActor, open.ID)
		inst.ok(err)
		_, err = inst.svc.CancelRun(context.Background(), mayaActor, r.ID, "")
		inst.ok(err)
		b.post("/runs/"+r.ID.String()+"/deny", "reason", typedText).is(409).shows(typedText)
		b.post("/runs/"+r.ID.String()+"/cancel", "reason", typedText).is(409).shows(typedText)
	})
	t.Run("of a form that no longer exists", func(t *testing.T) {
		b.post("/tasks/99/comments", "content", typedText).is(404).shows(typedText)
	})
	t.Run("of a form that is no longer allowed", func(t *testing.T) {
		viewer := inst.person("vera", task.RoleViewer)
		viewer.post("/settings/projects", "key", "web", "name", typedText).is(403).shows(typedText)
		viewer.post("/settings/projects", "key", "web", "repository", typedText).is(403).shows(typedText)
	})
	t.Run("but not of text that the page itself sent", func(t *testing.T) {
		b.post(at+"/resources/0/delete", "value", "https://example.com/a").hides("data-kept")
		b.post(at+"/steps/0", "done", "true", "seen", "Do").is(409).hides("data-kept")
	})
}

func TestTypedTextIsReturnedWhenTheSessionHasEnded(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	inst.maya()
	tk := inst.newTask(mayaActor, task.New{Title: "Open", Owner: "coder"})
	at := "/tasks/" + tk.ID.String()
	lone := inst.browser()
	t.Run("it is shown with a sign-in link", func(t *testing.T) {
		lone.post(at+"/comments", "content", typedText, "back", at).is(401).shows(typedText,
			"Sign in", "/login?next="+strings.ReplaceAll(at, "/", "%2F"))
	})
	t.Run("a form without text redirects to the sign-in page", func(t *testing.T) {
		lone.post(at+"/run", "back", at).is(303)
	})
	t.Run("a password is never shown", func(t *testing.T) {
		lone.post("/settings/password", "current", typedText, "password", typedText).is(303).hides(typedText)
		lone.post("/settings/people", "name", "x", "password", typedText).hides(typedText)
	})
	t.Run("text from another site is never shown", func(t *testing.T) {
		lone.origin = "https://elsewhere.example"
		lone.post(at+"/comments", "content", typedText).is(403).hides(typedText)
	})
}
