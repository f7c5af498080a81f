package service

import (
	"fmt"
	"testing"

	"taskyard/task"
)

func TestCardsByIDAreReadOncePerChange(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, other := inst.create(maya, "coder"), inst.create(maya, "planner")
	cards := func(ids ...task.ID) map[task.ID]*task.Task {
		t.Helper()
		m, err := inst.s.cardsByID(t.Context(), ids)
		ok(t, err)
		return m
	}
	first := cards(tk.ID)
	t.Run("two callers get the same card while nothing changes", func(t *testing.T) {
		both := cards(other.ID, tk.ID, 99)
		if len(both) != 2 || both[tk.ID] != first[tk.ID] || both[other.ID].Owner != "planner" {
			t.Errorf("got cards %v", both)
		}
	})
	t.Run("a change is seen at once", func(t *testing.T) {
		if _, err := inst.s.Signup(t.Context(), coder, "coder", 1); err != nil {
			t.Fatal(err)
		}
		if now := cards(tk.ID)[tk.ID]; now.WorkStatus != task.Working {
			t.Errorf("got card %s", now.WorkStatus)
		}
	})
	t.Run("a caller without permission is refused", func(t *testing.T) {
		if _, err := inst.s.Board(t.Context(), task.Actor{}, task.TaskFilter{}); err == nil {
			t.Error("a caller without permission got the board")
		}
	})
}

func TestTheBoard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for range 30 {
		inst.create(maya, "coder")
	}
	inst.create(maya, "planner")
	board := func(f task.TaskFilter) Board {
		t.Helper()
		b, err := inst.s.Board(t.Context(), vera, f)
		ok(t, err)
		return b
	}
	t.Run("has a column per agent, those with open tasks first", func(t *testing.T) {
		b := board(task.TaskFilter{})
		if b.Open != 31 || b.Waiting != 31 || b.OldestAt == 0 || len(b.Columns) != len(b.Agents) ||
			b.Columns[0].Agent != "coder" || b.Columns[1].Agent != "planner" {
			t.Errorf("got board %+v", b)
		}
	})
	t.Run("shows at most 25 cards per column and counts the rest", func(t *testing.T) {
		col := board(task.TaskFilter{Owner: "coder"}).Columns[0]
		if len(col.Groups) != 1 || len(col.Groups[0].Cards) != 25 || col.Groups[0].More != 5 || col.Cut {
			t.Errorf("got column %+v", col)
		}
	})
	t.Run("omits empty columns if a filter applies", func(t *testing.T) {
		if b := board(task.TaskFilter{Label: "none"}); len(b.Columns) != 0 {
			t.Errorf("got %d columns", len(b.Columns))
		}
	})
	t.Run("says why an idle task does not run", func(t *testing.T) {
		if _, err := inst.s.Pause(t.Context(), maya, "coder", "a rest"); err != nil {
			t.Fatal(err)
		}
		if got := board(task.TaskFilter{}).Columns[0].Groups[0].Cards[0].Reason; got != "coder is paused" {
			t.Errorf("got reason %q", got)
		}
	})
}

func TestGroupCardsKeepsAtMostTheLimit(t *testing.T) {
	t.Parallel()
	waits := &task.Task{ID: 1, Status: task.Active, WaitingFor: task.WaitsUser}
	tasks := []*task.Task{{ID: 2, Status: task.Active}, {ID: 3, Status: task.Active}, {ID: 4, Status: task.Draft}, waits}
	groups := groupTasks(tasks, 2)
	if len(groups) != 3 || groups[0].Cards[0].Task != waits || groups[0].Shown != task.ShownWaiting {
		t.Fatalf("got groups %+v", groups)
	}
	if idle, draft := groups[1], groups[2]; len(idle.Cards) != 1 || idle.More != 1 || len(draft.Cards) != 0 || draft.More != 1 {
		t.Errorf("got %d idle cards and %d drafts, want 1 and 0", len(idle.Cards), len(draft.Cards))
	}
}

func TestColumnsKeepTasksThatWaitForPeople(t *testing.T) {
	t.Parallel()
	var tasks []*task.Task
	add := func(n int, sample task.Task) {
		for range n {
			tasks = append(tasks, &sample)
		}
	}
	add(20, task.Task{Status: task.Active, WorkStatus: task.Working})
	add(10, task.Task{Status: task.Active, WaitingFor: task.WaitsUser})
	add(30, task.Task{Status: task.Active})
	groups := groupTasks(tasks, 25)
	for i, want := range [][2]int{{15, 5}, {10, 0}, {0, 30}} {
		if got := [2]int{len(groups[i].Cards), groups[i].More}; got != want {
			t.Errorf("group %d: got %d cards and %d more, want %v", i, got[0], got[1], want)
		}
	}
}

func TestABoardOfManyAgentsShowsThoseWithTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for i := range 2 * maxColumns {
		id := fmt.Sprintf("many-%03d", i)
		inst.write(id, "---\nname: "+id+"\ndescription: One of many.\ntools: read\n---\nWork.\n")
	}
	inst.s = inst.service()
	last := fmt.Sprintf("many-%03d", 2*maxColumns-1)
	inst.create(maya, last)
	b, err := inst.s.Board(t.Context(), vera, task.TaskFilter{})
	ok(t, err)
	equal(t, "columns", len(b.Columns), maxColumns)
	equal(t, "first column", b.Columns[0].Agent, last)
	equal(t, "omitted", b.More, len(b.Agents)-maxColumns)
	seen := map[string]bool{}
	for f := (task.TaskFilter{}); ; f.After = b.Columns[len(b.Columns)-1].Agent {
		b, err = inst.s.Board(t.Context(), vera, f)
		ok(t, err)
		for _, col := range b.Columns {
			if seen[col.Agent] {
				t.Errorf("%s is on two pages", col.Agent)
			}
			seen[col.Agent] = true
		}
		if b.More == 0 {
			break
		}
	}
	equal(t, "on all pages", len(seen), len(b.Agents))
	b, err = inst.s.Board(t.Context(), vera, task.TaskFilter{Owner: "many-040"})
	ok(t, err)
	equal(t, "columns of one agent", len(b.Columns), 1)
	equal(t, "omitted", b.More, 0)
}
