package handlers

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/task"
)

func TestPlanActions(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Title: "Plan", Owner: "coder", Steps: []task.Step{{Title: "a"}, {Title: "b"}}})
	at := "/tasks/" + tk.ID.String()
	t.Run("an invalid action is reported", func(t *testing.T) {
		for _, act := range []string{
			"", "move", "move 1", "move x y", "move 0 -1", "delete",
			"delete 99999999999999999999", "explode 1", "move 0 1 mark more", "restore", "restore x",
		} {
			b.post(at+"/plan", "act", act).is(422)
		}
		b.post(at+"/plan", "act", "move 0 9").is(422).shows("out of range")
		b.post(at+"/plan", "act", "link 0", "subtask", "x").is(422)
		b.post(at+"/plan", "act", "restore 999").is(409).shows("cannot be restored")
		b.post("/tasks/99/plan", "act", "move 0 1").is(404)
	})
	t.Run("a form submitted twice acts once", func(t *testing.T) {
		for range 3 {
			b.post(at+"/plan", "act", "delete 0 "+task.Mark("a"), "_key", "P1").is(303)
		}
		if got, err := inst.svc.Task(context.Background(), mayaActor, tk.ID); err != nil || len(got.Steps) != 1 {
			t.Fatal(got, err)
		}
	})
	t.Run("a concurrent change to the plan is reported with its author", func(t *testing.T) {
		b.post(at+"/plan", "act", "delete 0 "+task.Mark("a")).is(409).shows("maya deleted step 1: a meanwhile.")
		b.post(at+"/steps/0", "done", "true", "seen", "other").is(409).shows("has changed in the meantime")
		b.post(at+"/steps/0", "title", "mine", "details", "kept words", "inline", "1",
			"text", "other").is(409).shows("kept words", `value="mine"`)
	})
	t.Run("an unknown field and a changed field are reported", func(t *testing.T) {
		b.post(at+"/edit", "field", "status", "status", "done").is(422)
		b.post(at+"/edit", "field", "title", "title", "Mine", "was", task.Mark("Other")).is(409).shows(`value="Mine"`,
			"The title was changed in the meantime.")
		b.post(at+"/edit", "field", "priority", "priority", "high").is(422).shows(`value="high"`, "Must be a whole number")
		b.post(at+"/edit", "field", "title", "title", strings.Repeat("x", 201)).is(422).shows(`id="title-err"`)
	})
	t.Run("an edit can be undone unless another person edits meanwhile", func(t *testing.T) {
		edit := func(pairs ...string) *webPage { return b.post(at+"/edit", pairs...).redirectsTo(at) }
		now := func() *task.Task {
			t.Helper()
			got, err := inst.svc.Task(context.Background(), mayaActor, tk.ID)
			inst.ok(err)
			return got
		}
		had := func(title, description string) {
			t.Helper()
			if got := now(); got.Title != title || got.Description != description {
				t.Fatalf("got %q, %q", got.Title, got.Description)
			}
		}
		title := tk.Title
		edit("field", "description", "description", "one\r\n\r\n<b>two</b>").shows("Saved the description")
		edit("field", "description", "description", "other").undo(at +
			"/edit").redirectsTo(at).shows("The description of #1 is unchanged").hides("data-undo>")
		had(title, "one\n\n<b>two</b>")
		page := edit("field", "title", "title", "A slip")
		b.post(at+"/edit", "field", "title", "title", "Better").is(303)
		page.undo(at+"/edit").is(409).shows("changed title A slip → Better meanwhile", `value="`+title+`"`)
		edit("field", "title", "title", "Better").hides("data-undo>") // nothing changed
		edit("field", "title", "title", title)
		v := now().Version
		edit("title", "Whole", "description", "d", "owner", "coder", "priority", "3", "labels", "x", "version",
			strconv.FormatInt(v, 10)).undo(at + "/edit").redirectsTo(at).hides("data-undo>")
		had(title, "one\n\n<b>two</b>")
		edit("field", "description", "description", strings.Repeat("long ", 4000))
		edit("field", "description", "description", "").hides("data-undo>") // too long for a toast's undo
	})
	t.Run("query parameters are validated", func(t *testing.T) {
		for _, q := range []string{
			"tab=odd", "show=odd", "before=x", "before=1.2", "since=-1.2.3",
			"before=1.2.99999999999999999999", "tab=subtasks&after=x",
		} {
			b.get(at + "?" + q).is(422)
		}
		b.get(at + "?step=odd&before=1.1.1").is(200)
		b.get(at + "?before=0.0.0&since=0.0.0").is(200)
	})
	t.Run("a link is edited, and errors are shown at its fields", func(t *testing.T) {
		b.post(at+"/resources", "type", "url", "value", "https://example.com/a")
		b.post(at+"/resources/0", "had", "https://example.com/a", "value", "nonsense", "label",
			"L").is(422).shows(`id="value-0-err"`, `value="nonsense"`)
		b.post(at+"/resources/0", "had", "https://example.com/b", "value", "/c").is(409).shows("have changed since", `value="/c"`)
		b.post(at+"/resources/7", "value", "/c").is(422).shows("out of range")
		b.post(at+"/resources/x", "value", "/c").is(404)
	})
}

func TestAStepKeepsItsSubtask(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Title: "Plan", Owner: "coder", Steps: []task.Step{{Title: "Part"}, {Title: "Other"}}})
	sub, err := inst.svc.CreateSubtask(context.Background(), mayaActor, tk.ID, 0, task.New{Title: "The part", Owner: "coder", NoStart: true})
	inst.ok(err)
	at := "/tasks/" + tk.ID.String()
	for _, word := range []string{"Unlink", "Link to a subtask"} {
		if strings.Contains(b.get(at).is(200).body, word) {
			t.Errorf("the page must not offer %q", word)
		}
	}
	for act, status := range map[string]int{"unlink 0": 422, "link 1": 422, "delete 0": 409} {
		b.post(at+"/plan", "act", act, "subtask", sub.ID.String()).is(status)
	}
	now, err := inst.svc.Task(context.Background(), mayaActor, tk.ID)
	inst.ok(err)
	if len(now.Steps) != 2 || now.Steps[0].TaskID != sub.ID || now.Steps[1].TaskID != 0 {
		t.Errorf("got plan %+v", now.Steps)
	}
}

func TestALargeFamilyFitsThePage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	ctx := context.Background()
	tk := inst.newTask(mayaActor, task.New{Title: "Large", Owner: "coder", Steps: []task.Step{{Title: "Part"}}})
	const many = 1000
	var last *task.Task
	for range many {
		var err error
		last, err = inst.svc.CreateSubtask(ctx, mayaActor, tk.ID, 0, task.New{Title: "One of many parts", Owner: "coder", NoStart: true})
		inst.ok(err)
		inst.ok(inst.db.Write(ctx, func(tx *db.Tx) error { // a plan has at most 200 subtasks
			return tx.ArrangeSteps(tk.ID, []task.Step{{Title: "Part", TaskID: last.ID}}, []task.Step{{Title: "Part"}})
		}))
	}
	at := "/tasks/" + tk.ID.String()
	for _, path := range []string{at, "/tasks/" + last.ID.String(), at + "/cancel", at + "?tab=subtasks"} {
		b.get(path).is(200).isSmall()
	}
	b.get(at).shows("All 1000 subtasks")
	b.get("/tasks/" + last.ID.String()).shows("999 siblings")
	b.get(at+"/cancel").shows("1000 subtasks go", "And 950 more.")
	page, seen := b.get(at+"?tab=subtasks"), 0
	for page != nil {
		seen += strings.Count(page.body, "<li data-row>")
		_, next, more := strings.Cut(page.body, `rel="next" href="/tasks/`)
		if page = nil; more {
			href, _, _ := strings.Cut(next, `"`)
			page = b.get("/tasks/" + strings.ReplaceAll(href, "&amp;", "&")).is(200)
		}
	}
	if seen != many {
		t.Errorf("got %d subtasks on all pages", seen)
	}
}
