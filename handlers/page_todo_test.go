package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

func TestTheTodoListOnTheAgentPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	const page, act = "/agents/coder", "/agents/coder/todo"
	push := func(items ...string) {
		t.Helper()
		for _, item := range items {
			inst.ok2(inst.svc.Todo(context.Background(), asAgent("coder"), "coder", task.TodoRPush, item))
		}
	}
	list := func() string {
		t.Helper()
		a, err := inst.svc.Todo(context.Background(), mayaActor, "coder", task.TodoList, "")
		inst.ok(err)
		return strings.Join(*a.Items, "|")
	}
	expect := func(want string) {
		t.Helper()
		if got := list(); got != want {
			t.Errorf("got list %q, want %q", got, want)
		}
	}
	t.Run("an empty list says what it is for", func(t *testing.T) {
		b.get(page).is(200).shows("List is empty", "Add at the end", "Pop first")
	})
	t.Run("a person adds at both ends", func(t *testing.T) {
		b.post(act, "operation", "rpush", "item", "two").redirectsTo(page).shows("Added to the todo list of coder",
			">two<", "1 item", `data-live="todo:coder"`)
		b.post(act, "operation", "lpush", "item", " one ").redirectsTo(page).shows("> one <", "2 items")
		b.post(act, "operation", "rpush", "item", "two\r\nlines").redirectsTo(page)
		expect(" one |two|two\nlines")
	})
	t.Run("a person removes from both ends", func(t *testing.T) {
		b.post(act, "operation", "rpop").redirectsTo(page).shows("Took from the todo list of coder: two\nlines")
		b.post(act, "operation", "lpop", "back", page+"?todos=200").
			redirectsTo(page + "?todos=200").shows("Took from the todo list of coder:  one ")
		b.post(act, "operation", "lpop").redirectsTo(page)
		b.post(act, "operation", "lpop").redirectsTo(page).shows("The todo list of coder is empty")
	})
	t.Run("a refused item keeps its text", func(t *testing.T) {
		long := strings.Repeat("x", 4097)
		b.post(act, "operation", "rpush", "item", long).is(422).shows(long, "must be 1 to 4096 characters, not 4097")
		b.post(act, "operation", "rpush", "item", " ").is(422).shows("must not be blank")
		b.post(act, "operation", "push", "item", "x").is(422).shows("must be one of lpush, rpush")
		b.post(act, "operation", "list").redirectsTo(page)
		b.post("/agents/nobody/todo", "operation", "lpop").is(404)
		expect("")
	})
	t.Run("a form submitted twice acts once", func(t *testing.T) {
		for range 3 {
			b.post(act, "operation", "rpush", "item", "once", "_key", "k1").redirectsTo(page)
		}
		push("second")
		for range 3 {
			b.post(act, "operation", "lpop", "_key", "k2").redirectsTo(page)
		}
		expect("second")
		b.post(act, "operation", "lpop")
	})
	t.Run("items are escaped", func(t *testing.T) {
		push("<script>alert(1)</script>", `"><img src=x>`)
		b.get(page).shows("&lt;script&gt;alert(1)").hides("<script>alert", "<img src=x>")
		b.post(act, "operation", "lpop").redirectsTo(page).shows("coder: &lt;script&gt;").hides("<script>alert")
		b.post(act, "operation", "lpop")
	})
	t.Run("a long list is paged", func(t *testing.T) {
		push(makeItems()...)
		b.get(page).shows("first 20 of 26", ">item t<", "?todos=200#todo").hides(">item u<")
		b.get(page+"?todos=200").shows(">item z<", "26 items").hides("Show more")
		b.get(page + "?todos=zzz").shows("first 20 of 26")
		b.get(page + "?todos=-5").shows("first 20 of 26")
	})
	t.Run("a viewer can only read", func(t *testing.T) {
		vera := inst.person("vera", task.RoleViewer)
		vera.get(page).shows(">item a<", "Show more").hides("Pop first", "Add at the end")
		vera.post(act, "operation", "lpop").is(403)
	})
}

func makeItems() []string {
	list := make([]string, 26)
	for i := range list {
		list[i] = "item " + string(rune('a'+i))
	}
	return list
}
