package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"taskyard/db"
	"taskyard/task"
)

// todo performs one operation as coder and returns the response as JSON.
func (inst *instance) todo(agent string, op task.TodoOp, item string) string {
	inst.t.Helper()
	b, err := json.Marshal(must(inst.s.Todo(inst.ctx(), coder, agent, op, item)))
	ok(inst.t, err)
	return string(b)
}

func TestTodoResponses(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, c := range []struct {
		op         task.TodoOp
		item, want string
	}{
		{"count", "", `{"ok":true,"count":0}`},
		{"list", "", `{"ok":true,"items":[]}`},
		{"lpop", "", `{"ok":false}`},
		{"rpop", "", `{"ok":false}`},
		{"lpeek", "", `{"ok":false}`},
		{"rpeek", "", `{"ok":false}`},
		{"rpush", "b", `{"ok":true,"count":1}`},
		{"rpush", "c", `{"ok":true,"count":2}`},
		{"lpush", "a", `{"ok":true,"count":3}`},
		{"list", "", `{"ok":true,"items":["a","b","c"]}`},
		{"count", "", `{"ok":true,"count":3}`},
		{"lpeek", "", `{"ok":true,"item":"a"}`},
		{"rpeek", "", `{"ok":true,"item":"c"}`},
		{"rpop", "", `{"ok":true,"item":"c"}`},
		{"lpop", "", `{"ok":true,"item":"a"}`},
		{"lpop", "", `{"ok":true,"item":"b"}`},
		{"lpop", "", `{"ok":false}`},
		{"lpush", "again", `{"ok":true,"count":1}`},
	} {
		equal(t, string(c.op)+" "+c.item, inst.todo("coder", c.op, c.item), c.want)
	}
	equal(t, "the list of another agent", inst.todo("pull", task.TodoCount, ""), `{"ok":true,"count":0}`)
}

func TestTodoItemsAreKeptVerbatim(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	items := []string{
		`"quotes" 'and' \back\slashes`, "two\nlines\r\nand a\ttab", "😀 👩‍👩‍👧 é", " space around ",
		"same", "same", "{}", "null", "-- '; DROP TABLE todos", "<b>&amp;</b>",
		strings.Repeat("😀", task.MaxTodoItem), "\u202e\u0007",
	}
	for _, item := range items {
		inst.todo("coder", task.TodoRPush, item)
	}
	for _, item := range items {
		got := must(inst.s.Todo(inst.ctx(), maya, "coder", task.TodoLPop, ""))
		equal(t, "item", *got.Item, item)
	}
}

func TestTodoErrors(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	empty := ""
	for name, c := range map[string]struct {
		call  task.TodoCall
		field string
		words string
	}{
		"a push without an item":         {task.TodoCall{Op: "rpush"}, "item", "blank"},
		"an empty item":                  {task.TodoCall{Op: "lpush", Item: &empty}, "item", "1 to 4096"},
		"an item of white space":         {task.TodoCall{Op: "lpush", Item: ptr(" \t\n")}, "item", "blank"},
		"an item that is too long":       {task.TodoCall{Op: "rpush", Item: ptr(strings.Repeat("é", 4097))}, "item", "not 4097"},
		"NUL":                            {task.TodoCall{Op: "rpush", Item: ptr("a\x00")}, "item", "NUL"},
		"invalid UTF-8":                  {task.TodoCall{Op: "rpush", Item: ptr("a\xff")}, "item", "UTF-8"},
		"an item to pop":                 {task.TodoCall{Op: "lpop", Item: ptr("a")}, "item", "lpop takes no item"},
		"an empty item to count":         {task.TodoCall{Op: "count", Item: &empty}, "item", "count takes no item"},
		"an item to list":                {task.TodoCall{Op: "list", Item: ptr("a")}, "item", "list takes no item"},
		"an unknown operation":           {task.TodoCall{Op: "push"}, "operation", "lpush, rpush, lpop, rpop, lpeek, rpeek, list, count"},
		"no operation":                   {task.TodoCall{}, "operation", "must be one of"},
		"a limit that is negative":       {task.TodoCall{Op: "list", Limit: -1}, "limit", "1 to 1000"},
		"a limit that is too high":       {task.TodoCall{Op: "list", Limit: 1001}, "limit", "1 to 1000"},
		"an invalid cursor":              {task.TodoCall{Op: "list", After: "x"}, "after", "cursor"},
		"a cursor out of range":          {task.TodoCall{Op: "list", After: "9223372036854775808"}, "after", "cursor"},
		"a cursor where none is allowed": {task.TodoCall{Op: "lpop", After: "1"}, "after", "only list"},
		"a limit where none is allowed":  {task.TodoCall{Op: "lpeek", Limit: 5}, "limit", "only list"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inst.s.TodoCall(inst.ctx(), coder, "coder", c.call)
			refused(t, err, task.CodeInvalidField, c.field, c.words)
		})
	}
	t.Run("an unknown agent, naming the known ones", func(t *testing.T) {
		for _, id := range []string{"nobody", "", "../coder", "coder.md"} {
			_, err := inst.s.Todo(inst.ctx(), coder, id, task.TodoCount, "")
			refused(t, err, task.CodeAgentNotFound, "coder, ", "mute, planner")
		}
	})
	t.Run("a full list", func(t *testing.T) {
		inst := newInstance(t, func(c *Config) { c.TodoLimit = 2 })
		inst.todo("coder", task.TodoRPush, "a")
		inst.todo("coder", task.TodoLPush, "b")
		for _, op := range []task.TodoOp{task.TodoLPush, task.TodoRPush} {
			_, err := inst.s.Todo(inst.ctx(), coder, "coder", op, "c")
			refused(t, err, task.CodeQueueFull, "2 items")
		}
		inst.todo("coder", task.TodoLPop, "")
		equal(t, "push", inst.todo("coder", task.TodoLPush, "c"), `{"ok":true,"count":2}`)
	})
}

func TestWhoMayUseATodoList(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, a := range []task.Actor{coder, planner, oleg, rita, maya} {
		for _, op := range task.TodoOps {
			item := ""
			if op.Pushes() {
				item = "x"
			}
			must(inst.s.Todo(inst.ctx(), a, "pull", op, item))
		}
	}
	inst.todo("pull", task.TodoRPush, "x")
	for _, op := range task.TodoOps {
		item := ""
		if op.Pushes() {
			item = "x"
		}
		if _, err := inst.s.Todo(inst.ctx(), vera, "pull", op, item); op.Changes() {
			refused(t, err, task.CodeForbidden)
		} else {
			ok(t, err)
		}
		_, err := inst.s.Todo(inst.ctx(), agentActor("mute"), "pull", op, item)
		refused(t, err, task.CodeForbidden, "capability")
	}
	equal(t, "count", inst.todo("pull", task.TodoCount, ""), `{"ok":true,"count":1}`)
}

func TestTodoListsArePaged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	push := func(n int, item string) {
		t.Helper()
		ok(t, inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
			ends, err := tx.TodoEnds("coder")
			for i := range int64(n) {
				if err == nil {
					err = tx.PutTodo("coder", ends.Last+1+i, fmt.Sprintf(item, i))
				}
			}
			return err
		}))
	}
	all := func(limit int) (items []string, pages int) {
		t.Helper()
		c := task.TodoCall{Op: task.TodoList, Limit: limit}
		for {
			a := must(inst.s.TodoCall(inst.ctx(), vera, "coder", c))
			pages++
			items = append(items, *a.Items...)
			if a.Next == "" {
				return items, pages
			}
			if c.After = a.Next; a.Count == nil {
				t.Fatal("an incomplete page has no count")
			}
		}
	}
	inst.todo("coder", task.TodoLPush, "the front") // at a negative position
	push(2500, "item %d")
	for limit, want := range map[int]int{0: 3, 1000: 3, 7: 358, 999: 3} {
		items, pages := all(limit)
		if len(items) != 2501 || items[0] != "the front" || items[2500] != "item 2499" || pages != want {
			t.Errorf("limit %d: got %d items in %d pages, want %d", limit, len(items), pages, want)
		}
	}
	t.Run("a page continues after the previous one's last item, whatever was popped meanwhile", func(t *testing.T) {
		a := must(inst.s.TodoCall(inst.ctx(), coder, "coder", task.TodoCall{Op: task.TodoList, Limit: 10}))
		for range 5 {
			inst.todo("coder", task.TodoLPop, "")
		}
		b := must(inst.s.TodoCall(inst.ctx(), coder, "coder", task.TodoCall{Op: task.TodoList, Limit: 1, After: a.Next}))
		equal(t, "next", (*b.Items)[0], "item 9")
	})
	t.Run("a cursor after the end finds nothing", func(t *testing.T) {
		a := must(inst.s.TodoCall(inst.ctx(), coder, "coder", task.TodoCall{Op: task.TodoList, After: "9223372036854775807"}))
		equal(t, "items and cursor", fmt.Sprint(len(*a.Items))+a.Next, "0")
	})
	t.Run("a response has at most about a megabyte", func(t *testing.T) {
		push(200, "%d "+strings.Repeat("x", 16000))
		a := must(inst.s.TodoCall(inst.ctx(), coder, "coder", task.TodoCall{Op: task.TodoList, After: "2499"}))
		if n := len(*a.Items); n != 65 || a.Next == "" || *a.Count != 2501-5+200 {
			t.Errorf("got %d items, next %q, count %d", n, a.Next, *a.Count)
		}
	})
}

func TestTodoChangesAreLogged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	sub := inst.s.Hub().Subscribe("todo:coder")
	defer sub.Close()
	long := strings.Repeat("é", 300)
	at := inst.lastEvent()
	inst.todo("coder", task.TodoRPush, "write the tests")
	inst.todo("coder", task.TodoLPush, long)
	inst.todo("coder", task.TodoRPop, "")
	equal(t, "topics", strings.Join(sub.Drain(), " "), "todo:coder")
	_, err := inst.s.Todo(inst.ctx(), coder, "coder", task.TodoRPush, " ")
	refused(t, err, task.CodeInvalidField)
	for _, op := range []task.TodoOp{task.TodoLPeek, task.TodoList, task.TodoCount} {
		inst.todo("coder", op, "")
	}
	inst.todo("pull", task.TodoLPop, "") // empty
	var got []string
	for _, e := range must(inst.s.Events(inst.ctx(), maya, task.EventFilter{After: at, Limit: 10})) {
		got = append(got, e.Kind+" "+e.Actor+" "+e.Agent+" "+string(e.Changes))
	}
	want := []string{
		`todo.pushed coder coder {"count":1,"item":"write the tests","operation":"rpush"}`,
		`todo.pushed coder coder {"bytes":600,"count":2,"item":"` + strings.Repeat("é", 200) + `…","operation":"lpush"}`,
		`todo.popped coder coder {"count":1,"item":"write the tests","operation":"rpop"}`,
	}
	equal(t, "log", strings.Join(got, "\n"), strings.Join(want, "\n"))
	inst.checkChain()
}

func TestATodoListOutlivesTheServerAndItsAgentsFile(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.todo("pull", task.TodoRPush, "a")
	inst.todo("pull", task.TodoRPush, "b")
	ok(t, inst.s.DeleteAgent(inst.ctx(), maya, "pull"))
	_, err := inst.s.Todo(inst.ctx(), coder, "pull", task.TodoList, "")
	refused(t, err, task.CodeAgentNotFound)
	inst.write("pull", definitions["pull"])
	inst.s = inst.service()
	equal(t, "list", inst.todo("pull", task.TodoList, ""), `{"ok":true,"items":["a","b"]}`)
}

func TestATodoPushWithAnIdempotencyKeyHappensOnce(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	push := func(key string) int {
		ctx := WithIdempotency(inst.ctx(), &Idempotency{Caller: "coder", Key: key, Request: []byte("push")})
		return *must(inst.s.Todo(ctx, coder, "coder", task.TodoRPush, "a")).Count
	}
	pop := func(key string) string {
		ctx := WithIdempotency(inst.ctx(), &Idempotency{Caller: "coder", Key: key, Request: []byte("pop")})
		return *must(inst.s.Todo(ctx, coder, "coder", task.TodoLPop, "")).Item
	}
	for range 2 {
		equal(t, "count", push("1"), 1)
	}
	equal(t, "count", push("2"), 2)
	for range 2 {
		equal(t, "item", pop("3"), "a")
	}
	equal(t, "list", inst.todo("coder", task.TodoList, ""), `{"ok":true,"items":["a"]}`)
}

func TestConcurrentPopsGiveEachItemOnce(t *testing.T) {
	t.Parallel()
	const n, poppers = 1000, 10
	inst := newInstance(t)
	for i := range n {
		inst.todo("coder", task.TodoRPush, fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	got := make([][]string, poppers)
	for i := range poppers {
		wg.Go(func() {
			op := []task.TodoOp{task.TodoLPop, task.TodoRPop}[i%2]
			for {
				a, err := inst.s.Todo(inst.ctx(), agentActor("coder"), "coder", op, "")
				if err != nil {
					t.Error(err)
					return
				}
				if !a.OK {
					return
				}
				got[i] = append(got[i], *a.Item)
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, list := range got {
		for _, item := range list {
			seen[item]++
		}
	}
	equal(t, "distinct items", len(seen), n)
	for item, times := range seen {
		equal(t, "times of "+item, times, 1)
	}
}

func TestTheTodoListBehavesLikeASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		inst := newInstance(t)
		inst.t = rapidTB{t, rt}
		defer func() { ok(inst.t, inst.db.Close()) }()
		lists := map[string][]string{}
		for range rapid.IntRange(1, 60).Draw(rt, "operations") {
			agent := rapid.SampledFrom([]string{"coder", "pull"}).Draw(rt, "agent")
			op := rapid.SampledFrom(append(task.TodoOps, task.TodoLPush, task.TodoRPush)).Draw(rt, "operation")
			item := ""
			if op.Pushes() {
				item = "x" + rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") }).Draw(rt, "item")
			}
			want, err := json.Marshal(plainTodo(lists, agent, op, item))
			ok(inst.t, err)
			equal(inst.t, string(op), inst.todo(agent, op, item), string(want))
		}
	})
}

// plainTodo implements todo lists with plain slices.
func plainTodo(lists map[string][]string, agent string, op task.TodoOp, item string) task.TodoAnswer {
	l := lists[agent]
	n := len(l)
	switch {
	case op == task.TodoLPush:
		lists[agent] = append([]string{item}, l...)
		return task.TodoAnswer{OK: true, Count: ptr(n + 1)}
	case op == task.TodoRPush:
		lists[agent] = append(l, item)
		return task.TodoAnswer{OK: true, Count: ptr(n + 1)}
	case op == task.TodoCount:
		return task.TodoAnswer{OK: true, Count: &n}
	case op == task.TodoList:
		return task.TodoAnswer{OK: true, Items: ptr(append([]string{}, l...))}
	case n == 0:
		return task.TodoAnswer{}
	}
	got, rest := l[0], l[1:]
	if strings.HasPrefix(string(op), "r") {
		got, rest = l[n-1], l[:n-1]
	}
	if strings.HasSuffix(string(op), "pop") {
		lists[agent] = rest
	}
	return task.TodoAnswer{OK: true, Item: &got}
}

// BenchmarkTodo alternates between a short and a long list, so that noise affects both,
// and reports the median ratio of their costs.
func BenchmarkTodo(b *testing.B) {
	const item = "an item of the usual length, about so"
	instances := map[int64]*instance{10: newInstance(b), 100_000: newInstance(b)}
	for n, inst := range instances {
		ok(b, inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
			for i := range n {
				if err := tx.PutTodo("coder", i, item); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for _, pair := range [][2]task.TodoOp{
		{task.TodoLPush, task.TodoLPop},
		{task.TodoRPush, task.TodoRPop},
		{task.TodoLPush, task.TodoRPop},
		{task.TodoRPush, task.TodoLPop},
	} {
		for i, op := range pair {
			b.Run(fmt.Sprintf("%s of %s and %s", op, pair[0], pair[1]), func(b *testing.B) {
				took := map[int64][]time.Duration{}
				for b.Loop() {
					for n, inst := range instances {
						for j, op := range pair {
							start := time.Now()
							inst.todo("coder", op, []string{item, ""}[j])
							if i == j {
								took[n] = append(took[n], time.Since(start))
							}
						}
					}
				}
				median := func(n int64) float64 { slices.Sort(took[n]); return float64(took[n][len(took[n])/2]) }
				b.ReportMetric(median(10)/1e3, "µs/op-at-10")
				b.ReportMetric(median(100_000)/median(10), "ratio")
			})
		}
	}
}
