package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

func TestCreateATaskByForm(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("the form lists the agents with their queues", func(t *testing.T) {
		b.get("/tasks/new?owner=coder").is(200).shows(`value="coder" selected`, "0 tasks in its queue", "drafts only", "claims its own work")
	})
	t.Run("errors are shown at their fields, and the typed text is kept", func(t *testing.T) {
		b.post("/tasks", "title", "", "description", "line one\r\nline two", "owner", "ghost", "priority", "7",
			"steps", "first\r\n"+strings.Repeat("x", 61), "links", "ftp://x y", "status", "draft").
			is(422).shows("Must not be blank", "line one\nline two", `value="7"`, "first", "Step 2 must be 1 to 60 characters, not 61",
			"Link 1 must be an http, https or mailto URL", `value="draft" checked`)
		b.post("/tasks", "title", "A title", "owner", "ghost").is(422).shows("Unknown agent: ghost", `value="A title"`)
		b.post("/tasks", "title", "A title", "owner", "coder", "priority", "high").is(422).shows("Must be a whole number", `value="high"`)
		b.post("/tasks", "title", "A title", "owner", "bad").is(422).shows("may own drafts only")
	})
	t.Run("a valid form redirects to the new task", func(t *testing.T) {
		b.post("/tasks", "title", "Build it", "description", "With *care*", "owner", "coder", "priority", "5", "steps",
			"Plan\r\n\r\nDo", "links", "https://example.com/x The spec\r\n/etc/hosts", "status", "active").
			redirectsTo("/tasks/1").is(200).shows("Created #1", "Build it", "<em>care</em>", "0 of 2", "The spec", "/etc/hosts")
	})
	t.Run("a draft does not start", func(t *testing.T) {
		b.post("/tasks", "title", "Later", "owner", "bad", "status", "draft").redirectsTo("/tasks/2").is(200).shows("Draft", "It is a draft")
		b.get("/tasks/2").shows(`id="plan">`, "New step").hides("0 of 0")
		inst.person("vera", task.RoleViewer).get("/tasks/2").shows(`id="plan" hidden>`).hides("New step")
	})
	t.Run("a form submitted twice creates one task", func(t *testing.T) {
		for range 3 {
			b.post("/tasks", "title", "Once", "owner", "coder", "_key", "K1").redirectsTo("/tasks/3").is(200)
		}
		b.get("/tasks/4").is(404)
	})
	t.Run("a form changed after submission says so, and creates another task when submitted again", func(t *testing.T) {
		p := b.post("/tasks", "title", "Another", "owner", "coder", "_key", "K1").is(422).
			shows("This form was already sent with other content").hides("Idempotency")
		b.get("/tasks/4").is(404)
		b.post("/tasks", "title", "Another", "owner", "coder", "status", "draft", "_key", p.field("/tasks", "_key")).redirectsTo("/tasks/4")
	})
	t.Run("a follow-up links back", func(t *testing.T) {
		b.post("/tasks/3/complete").redirectsTo("/tasks/3").shows("Completed #3", "Create follow-up")
		b.get("/tasks/new?follow=3").is(200).shows("Follow-up of", "Once")
		b.post("/tasks", "title", "Once more", "owner", "coder", "follow", "3").
			redirectsTo("/tasks/5").shows("Follow-up of #3", inst.url+"/tasks/3")
		b.get("/tasks/new?follow=99").is(404)
		b.get("/tasks/new?follow=x").is(422)
	})
}

func TestTaskActions(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Title: "The work", Owner: "coder", Steps: []task.Step{{Title: "Plan"}, {Title: "Do"}}})
	at := "/tasks/" + tk.ID.String()
	other := inst.newTask(mayaActor, task.New{Owner: "coder"})

	t.Run("the place in the queue and the neighbors are shown", func(t *testing.T) {
		b.get(at).is(200).shows("1 of 2", "Next task", "Ready: it runs at the next tick, at ").hides("Previous task")
	})
	t.Run("a comment", func(t *testing.T) {
		b.post(at+"/comments", "content", "Mind the *gap*\r\nplease").redirectsTo(at).shows("Commented", "Mind the <em>gap</em>")
		b.post(at+"/comments", "content", "  ").is(422).shows("Must not be blank", `id="comment-err"`)
	})
	t.Run("a comment submitted twice appears once", func(t *testing.T) {
		for range 2 {
			b.post(at+"/comments", "content", "only-once", "_key", "C1").redirectsTo(at)
		}
		if n := strings.Count(b.get(at).body, "only-once"); n != 1 {
			t.Fatalf("got the comment %d times", n)
		}
	})
	t.Run("a step is checked, edited and added", func(t *testing.T) {
		b.post(at+"/steps/0", "done", "true").redirectsTo(at).shows("1 of 2", "Step 1 is done")
		b.post(at+"/steps/0", "done", "false").redirectsTo(at).shows("0 of 2")
		b.get(at+"/steps/1/edit").is(200).shows(`value="Do"`, "Delegate this step")
		b.post(at+"/steps/1", "title", "Do it well", "details", "with\r\ncare").redirectsTo(at).shows("Do it well", "with\ncare")
		b.post(at+"/steps/1", "title", strings.Repeat("y", 61), "details", "kept").is(422).shows("Must be 1 to 60 characters", "kept")
		read := b.get(at+"/steps/1/edit").field(at+"/steps/1", "was")
		b.post(at+"/steps/1", "title", "Theirs", "details", "", "was", read).redirectsTo(at)
		page := b.post(at+"/steps/1", "title", "Mine", "details", "kept", "was", read).is(409).
			shows("Theirs", "saving again replaces it", `value="Mine"`, "kept").hides("data-kept")
		b.post(at+"/steps/1", "title", "Mine", "details", "kept", "was", page.field(at+"/steps/1", "was")).redirectsTo(at).shows("Mine")
		b.post(at+"/steps", "title", "Check").redirectsTo(at).shows("Check", "0 of 3")
		b.post(at+"/steps", "title", strings.Repeat("z", 61)).is(422).shows("Must be 1 to 60 characters",
			`id="step-err"`, strings.Repeat("z", 61))
	})
	t.Run("an unknown step is not found", func(t *testing.T) {
		for _, n := range []string{"9", "-1", "x"} {
			b.get(at + "/steps/" + n + "/edit").is(404)
			b.post(at+"/steps/"+n, "done", "true").is(404)
		}
	})
	t.Run("a step is delegated", func(t *testing.T) {
		b.post(at+"/steps/1/subtask", "title", "", "owner", "planner", "description", "kept too").is(422).shows("Must not be blank", "kept too")
		b.post(at+"/steps/1/subtask", "title", "Part", "owner", "planner", "priority",
			"2").redirectsTo(at).shows("Delegated step 2 as #3", "Family", "/tasks/3")
		b.post(at+"/steps/1/subtask", "title", "Part", "owner", "planner").is(409).shows("Step 2 of task", "already has the subtask 3")
		b.get("/tasks/3").is(200).shows("Subtask of")
	})
	t.Run("a link is added and removed", func(t *testing.T) {
		b.post(at+"/resources", "type", "url", "value", "nonsense", "label", "L").is(422).shows("Must be an http", `value="nonsense"`)
		b.post(at+"/resources", "type", "url", "value", "https://example.com/doc", "label", "Doc").
			redirectsTo(at).shows("https://example.com/doc")
		b.post(at+"/resources/0/delete", "value", "https://example.com/other").is(409).shows("have changed since")
		b.post(at+"/resources/0/delete", "value", "https://example.com/doc").redirectsTo(at).hides("https://example.com/doc")
		b.post(at + "/resources/0/delete").is(422).shows("out of range")
	})
	t.Run("the task is edited, and a stale version names who changed it", func(t *testing.T) {
		version := b.get(at+"/edit").is(200).field(at+"/edit", "version")
		edit := []string{"title", "The better work", "description", "more\r\nwords", "owner", "coder", "priority", "3", "version", version}
		b.post(at+"/edit", edit...).redirectsTo(at).shows("Saved #1", "The better work", "more\nwords")
		again := b.post(at+"/edit", "title", "Mine", "description", "d", "owner", "coder", "priority", "3",
			"version", version).is(409).shows("maya changed", "meanwhile", `value="Mine"`)
		b.post(at+"/edit", "title", "Mine", "description", "d", "owner", "coder", "priority", "3",
			"version", again.field(at+"/edit", "version")).redirectsTo(at).shows("Mine")
		b.post(at+"/edit", "title", "", "description", "keep me", "owner", "coder", "priority", "3").is(422).shows("Must not be blank", "keep me")
	})
	t.Run("an idle task is moved with a comment", func(t *testing.T) {
		b.get(at + "/move").is(200).shows("belongs to coder")
		b.post(at+"/move", "from", "coder", "to", "planner", "comment", "").is(422).shows("Must not be blank", `value="planner" selected`)
		b.post(at+"/move", "from", "coder", "to", "ghost", "comment", "c").is(422).shows("Unknown agent", `id="to-err"`)
		for range 2 {
			b.post(at+"/move", "from", "coder", "to", "planner", "comment", "over to you",
				"_key", "M1").redirectsTo(at).shows("over to you", "handed it over")
		}
		b.post(at+"/move", "from", "coder", "to", "pull", "comment", "late").is(409).shows("currently assigned to: planner", "late")
	})
	t.Run("a claimed task is moved by the same form, and a repeat changes nothing", func(t *testing.T) {
		_, err := inst.svc.Signup(context.Background(), asAgent("planner"), "planner", 2)
		inst.ok(err)
		b.get(at + "/move").shows("has worked on it since")
		for range 2 {
			b.post(at+"/move", "from", "planner", "to", "coder", "comment", "back", "_key", "M2").redirectsTo(at).shows("Moved #1 to coder")
		}
	})
	t.Run("a claim is released", func(t *testing.T) {
		_, err := inst.svc.Signup(context.Background(), asAgent("coder"), "coder", 1)
		inst.ok(err)
		b.get(at).shows("Release claim", "Claimed by coder until")
		b.post(at + "/release").redirectsTo(at).shows("Released the claim").hides("Release claim")
		b.post(at + "/release").is(409).shows("not in working status")
	})
	t.Run("a question is answered", func(t *testing.T) {
		_, err := inst.svc.Ask(context.Background(), asAgent("coder"), tk.ID, "Which color?", false)
		inst.ok(err)
		b.get(at).shows("Which color?", "Waits for an answer", "A question has waited for an answer")
		b.post(at+"/reply", "content", " ").is(422).shows(`id="reply-text-err"`)
		b.post(at+"/reply", "content", "Blue").redirectsTo(at).shows("Answered", "Blue").hides("Waits for an answer")
		b.post(at+"/reply", "content", "Red").is(409).shows("No question is open")
	})
	t.Run("a run is requested and stopped on the page", func(t *testing.T) {
		b.post(at+"/run").redirectsTo(at).shows("Run 1 is queued", "starts when a slot is free")
		b.post(at + "/run").is(409).shows("is in flight")
		b.post("/runs/1/cancel", "back", at).redirectsTo(at).shows("Run 1 was stopped")
		b.post("/runs/1/cancel", "back", at).is(409).shows("has ended", `href="`+at+`"`)
		b.post("/runs/1/cancel", "back", "https://evil.example").is(409).hides("evil.example")
	})
	t.Run("the cancel page names what else is canceled", func(t *testing.T) {
		b.get(at+"/cancel").is(200).shows("1 subtask goes with it", "Part", `name="reason"`)
		b.post(at+"/cancel").redirectsTo(at).shows("Canceled #1 and 1 subtask", "Canceled")
		b.get("/tasks/3").shows("Canceled")
		b.post(at + "/cancel").is(409).shows("is canceled")
		b.post(at+"/comments", "content", "too late").is(409).shows("archived tasks are read-only")
	})
	t.Run("a draft is started", func(t *testing.T) {
		d := inst.newTask(mayaActor, task.New{Owner: "coder", Status: task.Draft})
		b.post("/tasks/" + d.ID.String() + "/start").redirectsTo("/tasks/" + d.ID.String()).shows("Started #")
		b.post("/tasks/" + d.ID.String() + "/start").redirectsTo("/tasks/" + d.ID.String())
	})
	t.Run("the response to a refused action updates from the task's page", func(t *testing.T) {
		at := "/tasks/" + other.ID.String()
		b.post(at+"/comments", "content", "").is(422).shows(`hx-get="` + at + `"`).hides(`hx-get="` + at + `/comments"`)
	})
}

func TestUnknownPagesAreNotFound(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for _, path := range []string{
		"/tasks/99", "/tasks/x", "/tasks/0", "/tasks/5a", "/tasks/-1", "/tasks/99/edit",
		"/tasks/99/move", "/tasks/99/cancel", "/runs/99", "/runs/x",
		"/runs/99/transcript", "/runs/99/transcript?after=1", "/approvals/99", "/agents/ghost", "/agents/ghost/edit",
		"/agents/..%2f..%2fetc", "/nothing", "/tasks/99999999999999999999",
	} {
		b.get(path).is(404).shows("<h1>", "Go back")
	}
	for _, path := range []string{
		"/tasks/99/run", "/tasks/99/comments", "/tasks/x/cancel",
		"/tasks/99/move", "/tasks/99/edit", "/runs/99/cancel", "/runs/99/retry", "/runs/99/approve",
		"/agents/ghost", "/agents/ghost/delete", "/scheduler/jobs/nope/run",
	} {
		b.post(path, "content", "x", "comment", "x", "to", "coder", "title", "x", "text", "x", "owner", "coder").is(404)
	}
	for _, path := range []string{
		"/tasks?status=odd", "/queues?status=odd", "/runs?status=odd", "/tasks?after=x", "/history?from=yesterday",
		"/history?status=active", "/history?before=x", "/history?label=No+Label", "/history.csv?status=active",
		"/history.json?to=never", "/insights?range=3d", "/runs?from=x", "/runs?task=x", "/runs?before=x",
	} {
		b.get(path).is(422)
	}
	b.get("/queues?agent=ghost&q=%00").is(200)
}
