package service

import (
	"testing"

	"taskyard/task"
)

func TestCardsByIDAreReadOnceAChange(t *testing.T) {
	y := newInstance(t)
	k, other := y.create(maya, "coder"), y.create(maya, "planner")
	cards := func(ids ...task.ID) map[task.ID]*task.Task {
		t.Helper()
		m, err := y.s.CardsOf(t.Context(), vera, ids)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := cards(k.ID)
	t.Run("two callers are given the same card while nothing changes", func(t *testing.T) {
		both := cards(other.ID, k.ID, 99)
		if len(both) != 2 || both[k.ID] != first[k.ID] || both[other.ID].Owner != "planner" {
			t.Errorf("the cards are %v", both)
		}
	})
	t.Run("a change is seen at once", func(t *testing.T) {
		if _, err := y.s.Signup(t.Context(), coder, "coder", 1); err != nil {
			t.Fatal(err)
		}
		if now := cards(k.ID)[k.ID]; now.WorkStatus != task.Working {
			t.Errorf("the card is %s", now.WorkStatus)
		}
	})
	t.Run("whoever may not read is refused", func(t *testing.T) {
		if _, err := y.s.CardsOf(t.Context(), task.Actor{}, []task.ID{k.ID}); err == nil {
			t.Error("a nobody was given cards")
		}
		if _, err := y.s.Outlines(t.Context(), task.Actor{}, task.TaskFilter{Limit: 1}); err == nil {
			t.Error("a nobody was given outlines")
		}
	})
}
