package handlers

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"taskyard/task"
)

// undo submits the toast's form, which must post to action.
func (a *webPage) undo(action string) *webPage {
	a.b.site.t.Helper()
	doc, err := html.Parse(strings.NewReader(a.body))
	a.b.site.ok(err)
	for f := range doc.Descendants() {
		var pairs []string
		toast := false
		for n := range f.Descendants() {
			toast = toast || slices.ContainsFunc(n.Attr, func(at html.Attribute) bool { return at.Key == "data-undo" })
			if n.Data == "input" {
				pairs = append(pairs, nodeAttr(n, "name"), nodeAttr(n, "value"))
			}
		}
		if f.Data == "form" && toast && nodeAttr(f, "action") == action {
			return a.b.post(action, pairs...)
		}
	}
	a.b.site.t.Fatalf("%s: no toast posts to %s", a.url, action)
	return nil
}

func TestBoardActions(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	inst.person("jonas", task.RoleOperator)
	const home = "/queues?agent=coder&q=work"
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "The work", Priority: 5, NoStart: true})
	at := "/tasks/" + tk.ID.String()
	now := func() *task.Task {
		t.Helper()
		got, err := inst.svc.Task(context.Background(), mayaActor, tk.ID)
		inst.ok(err)
		return got
	}

	t.Run("a hand-over returns to the same filtered board and can be undone", func(t *testing.T) {
		b.get(at+"/move?to=pull&back="+url.QueryEscape(home)).is(200).shows(`value="pull" selected`,
			`name="back" value="/queues?agent=coder&amp;q=work"`)
		page := b.post(at+"/move", "from", "coder", "to", "pull", "comment", "yours", "back",
			home).redirectsTo(home).shows("Moved #1 to pull", "data-undo")
		if now().Owner != "pull" {
			t.Fatalf("got owner %s", now().Owner)
		}
		page.undo(at + "/move").redirectsTo(home).shows("#1 is coder’s again").hides("data-undo>")
		if now().Owner != "coder" || now().OpenRunID != 0 {
			t.Errorf("got %+v", now())
		}
	})
	t.Run("a late change is refused and says who changed what", func(t *testing.T) {
		b.post(at+"/move", "from", "coder", "to", "pull", "comment", "yours").is(303)
		b.post(at+"/move", "from", "coder", "to", "planner", "comment", "kept words", "back", home).is(409).
			shows("is no longer assigned to coder (currently assigned to: pull), by maya at 09:00 UTC",
				"kept words", `name="back" value="/queues`)
		b.post(at+"/move", "from", "pull", "to", "coder", "comment", "back").is(303)
	})
	t.Run("a priority changes once per form, only from the displayed value, and can be undone", func(t *testing.T) {
		for range 2 {
			b.post(at+"/priority", "change", "5 6", "_key", "P", "back", home).redirectsTo(home).shows("Priority of #1: 5 → 6")
		}
		v := now().Version
		page := b.post(at+"/priority", "change", "6 8", "_key", "P", "back", home).redirectsTo(home).shows("6 → 8")
		if now().Version != v+1 {
			t.Errorf("got version %d after %d", now().Version, v)
		}
		page.undo(at + "/priority").redirectsTo(home).shows("8 → 6").hides("data-undo>")
		b.post(at+"/priority", "change", "5 4", "back", home).is(409).shows("The priority of task 1 is now 6, not 5, by maya",
			`href="/queues?agent=coder&amp;q=work"`)
	})
	t.Run("bad input is refused", func(t *testing.T) {
		for _, change := range []string{"", "5", "a b", "6 1000001", "6 99999999999999999999", "6 7 8"} {
			b.post(at+"/priority", "change", change).is(422)
		}
		b.post("/tasks/999/priority", "change", "1 2").is(404)
		b.post("/tasks/x/priority", "change", "1 2").is(404)
		b.post(at+"/priority", "change", "6 7", "back", "https://example.com/").redirectsTo("/")
	})
	t.Run("the board of one agent has its own address", func(t *testing.T) {
		inst.newTask(mayaActor, task.New{Owner: "pull", Title: "Elsewhere"})
		b.get("/queues/coder").is(200).shows("The work").hides("Elsewhere")
		b.get("/queues/nobody").is(404)
	})
}

func TestBoardFilters(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	first := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Alpha", Priority: 3, Labels: []string{"api"}, NoStart: true})
	inst.newTask(asAgent("planner"), task.New{Owner: "coder", Title: "Beta", Priority: 7, BlockedBy: []task.ID{first.ID}, NoStart: true})
	for q, want := range map[string]string{
		"priority=5": "Beta", "priority=-9&by=user%3Amaya": "Alpha", "by=planner": "Beta", "blocked=yes": "Beta",
		"blocked=no": "Alpha", "label=api": "Alpha", "status=idle&q=alp": "Alpha",
	} {
		other := map[string]string{"Alpha": "Beta", "Beta": "Alpha"}[want]
		for _, path := range []string{"/tasks?", "/queues?"} {
			b.get(path+q).is(200).shows(want+"</a>", "remove filter").hides(other + "</a>")
		}
	}
	t.Run("invalid filters are refused", func(t *testing.T) {
		for _, q := range []string{
			"priority=x", "blocked=maybe", "status=dancing", "sort=color",
			"label=No+Label", "sort=title&after=-1", "after=x",
		} {
			b.get("/tasks?" + q).is(422)
		}
	})
	t.Run("a list is sorted by column", func(t *testing.T) {
		a, z := b.get("/tasks?sort=title").is(200).body, b.get("/tasks?sort=-title").is(200).body
		if strings.Index(a, "Alpha</a>") > strings.Index(a, "Beta</a>") || strings.Index(z, "Alpha</a>") < strings.Index(z, "Beta</a>") {
			t.Error("wrong order")
		}
	})
	t.Run("a chip removes its filter and keeps the others", func(t *testing.T) {
		b.get("/tasks?priority=5&by=planner&sort=title").shows(`href="/tasks?by=planner&amp;sort=title"`,
			`href="/tasks?priority=5&amp;sort=title"`)
	})
}

func TestBulkActions(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	var ids []string
	for i := range 3 {
		ids = append(ids, inst.newTask(mayaActor, task.New{Owner: "coder", Title: fmt.Sprintf("One of them %d", i), NoStart: true}).ID.String())
	}
	const home = "/tasks?agent=coder"
	ask := "/tasks/bulk?back=" + url.QueryEscape(home)

	t.Run("names the action and the count first", func(t *testing.T) {
		b.get(ask+"&act=cancel&id=1&id=2").is(200).shows("Cancel 2 tasks", "One of them 0", `name="ids" value="1 2"`).hides("One of them 2")
		b.get(ask + "&act=move&all=1").shows("Move 3 tasks")
	})
	t.Run("needs tasks and a known action", func(t *testing.T) {
		b.get(ask+"&act=move").is(422).shows("Select at least one task", `href="/tasks?agent=coder"`)
		b.get(ask + "&act=explode&id=1").is(422)
		b.get(ask + "&act=move&id=x").is(422)
		b.post("/tasks/bulk", "act", "move", "ids", "", "back", home).is(422)
		b.post("/tasks/bulk", "act", "nothing", "ids", "1").is(422)
	})
	t.Run("an invalid input keeps the typed text", func(t *testing.T) {
		b.post("/tasks/bulk", "act", "move", "ids", "1 2", "to", "pull", "text", " ", "back",
			home).is(422).shows("Must not be blank", `value="pull" selected`, `name="ids" value="1 2"`)
		b.post("/tasks/bulk", "act", "priority", "ids", "1", "priority", "many").is(422).shows("Must be a whole number", `value="many"`)
		b.post("/tasks/bulk", "act", "label", "ids", "1", "labels", "Not Good").is(422).shows("must be 1 to 32", `value="Not Good"`)
	})
	t.Run("reports done and skipped tasks, once per form", func(t *testing.T) {
		b.post("/tasks/" + ids[2] + "/complete").is(303)
		for range 2 {
			b.post("/tasks/bulk", "act", "priority", "ids", strings.Join(ids, " "), "priority", "4", "back", home, "_key", "B1").redirectsTo(home).
				shows("Set the priority of 2 tasks; 1 skipped", "#3: Task 3 is done, by maya at 09:00 UTC")
		}
		b.get(home).hides("1 skipped")
	})
}

func TestSavedViewsOfAPerson(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	other := inst.person("vera", task.RoleViewer)
	b.post("/views", "name", "Hot", "path", "/tasks?priority=6&after=5.1&evil=1", "back", "/tasks?priority=6").
		redirectsTo("/tasks?priority=6").
		shows("Saved the view Hot", `href="/tasks?priority=6"`)
	b.get("/").shows("Hot<")
	other.get("/tasks").hides("Hot<", `Hot"`)
	other.post("/views", "name", "Hers", "path", "/queues?status=waiting").redirectsTo("/views").shows("Hers")
	other.post("/views/1/delete").is(404)
	b.post("/views", "name", "hot", "path", "/tasks").is(409).
		shows("You already have a view of this name", `value="hot"`, `id="view-name-err"`)
	b.post("/views", "name", "\u200b", "path", "/queues?status=waiting").is(422).shows("Must not be blank", `value="waiting"`)
	b.post("/views", "name", "x", "path", "https://example.com/tasks").is(422)
	b.post("/views", "name", "x", "path", "/settings").is(422)
	b.post("/views", "name", strings.Repeat("x", 61), "path", "/tasks").is(422)
	b.post("/views/1/rename", "name", " ").is(422).shows("must not be blank", `id="v-1-err"`)
	b.post("/views/x/rename", "name", "a").is(404)
	b.post("/views/1/rename", "name", "Hotter").redirectsTo("/views").shows("The view is now called Hotter")
	page := b.post("/views/1/delete").redirectsTo("/views").shows("Deleted the view Hotter", "No views yet")
	b.post("/views", "name", page.field("/views", "name"), "path", page.field("/views", "path"), "back", page.field("/views", "back"),
		"undo", page.field("/views", "undo")).
		redirectsTo("/views").shows("Restored the view Hotter", `href="/tasks?priority=6"`)
}

// TestABoardOfManyTasksIsSmall checks the size of pages with 1,000 open tasks.
func TestABoardOfManyTasksIsSmall(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	for i := range 1000 {
		owner := []string{"coder", "planner", "reviewer", "pull"}[i%4]
		inst.newTask(mayaActor, task.New{
			Owner: owner, Title: fmt.Sprintf("A task of the board, about %x, number %d", i*7919, i),
			Priority: i % 11, Labels: []string{"label" + fmt.Sprint(i%13)}, NoStart: true,
		})
	}
	for _, path := range []string{"/queues", "/tasks", "/queues?q=board&priority=2"} {
		b.get(path).is(200).isSmall()
	}
}

func TestColumnsAreCachedPerVisibleContent(t *testing.T) {
	inst := newSite(t)
	maya, vera := inst.maya(), inst.person("vera", task.RoleViewer)
	tk := inst.newTask(mayaActor, task.New{Title: "Paint the fence", Owner: "pull", NoStart: true})
	card := func(b *browser, path string) string {
		t.Helper()
		a := b.get(path)
		_, rest, found := strings.Cut(a.body, `id="t-`+tk.ID.String()+`"`)
		if !found {
			t.Fatalf("%s: there is no card in %s", path, a.body)
		}
		rest, _, _ = strings.Cut(rest, "</article>")
		return rest
	}
	acts, back := "Raise priority", `move?back=%2Fqueues%3Fseen`
	for range 2 {
		if c := card(maya, "/queues"); !strings.Contains(c, acts) || strings.Contains(c, back) {
			t.Errorf("admin: got %s", c)
		}
		if c := card(vera, "/queues"); strings.Contains(c, acts) {
			t.Errorf("viewer: got %s", c)
		}
		if c := card(maya, "/queues?seen=1"); !strings.Contains(c, back) {
			t.Errorf("admin on another page: got %s", c)
		}
	}
	_, err := inst.svc.Comment(t.Context(), mayaActor, tk.ID, "green, please")
	inst.ok(err)
	if c := card(vera, "/queues"); !strings.Contains(c, "Comments") {
		t.Errorf("viewer after a comment: got %s", c)
	}
}
