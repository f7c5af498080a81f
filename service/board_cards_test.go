package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestCardsAreReadOncePerChange(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder")
	cards := func(f task.TaskFilter) []*task.Task {
		t.Helper()
		f.Limit = 50
		p, err := inst.s.Cards(t.Context(), vera, f)
		ok(t, err)
		return p.Tasks
	}
	first := cards(task.TaskFilter{Owner: "coder"})
	t.Run("two callers get the same page while nothing changes", func(t *testing.T) {
		if again := cards(task.TaskFilter{Owner: "coder"}); len(again) != 1 || again[0] != first[0] {
			t.Errorf("the page was read again: %v", again)
		}
	})
	t.Run("another filter has its own page", func(t *testing.T) {
		if other := cards(task.TaskFilter{Owner: "planner"}); len(other) != 0 {
			t.Errorf("planner: got %d cards", len(other))
		}
	})
	t.Run("a change is seen at once", func(t *testing.T) {
		if _, err := inst.s.Signup(t.Context(), coder, "coder", 1); err != nil {
			t.Fatal(err)
		}
		if now := cards(task.TaskFilter{Owner: "coder"}); now[0].WorkStatus != task.Working || now[0].ID != tk.ID {
			t.Errorf("got card %+v", now[0])
		}
	})
	t.Run("an expired claim is seen within a second", func(t *testing.T) {
		cards(task.TaskFilter{Owner: "coder"})
		inst.Forward(inst.s.config().Lease + time.Second)
		if now := cards(task.TaskFilter{Owner: "coder"}); now[0].WorkStatus != task.Idle {
			t.Errorf("got card %s", now[0].WorkStatus)
		}
	})
}
