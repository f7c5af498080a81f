package service

import (
	"errors"
	"testing"

	"taskyard/task"
)

func TestAFullQueueRefusesTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.QueueLimit = 3 })
	add := func(owner string) error {
		_, err := inst.s.CreateTask(t.Context(), maya, task.New{Title: "one more", Owner: owner})
		return err
	}
	for range 3 {
		ok(t, add("pull"))
	}
	var e *task.Error
	if err := add("pull"); !errors.As(err, &e) || e.Code != task.CodeQueueFull || e.Kind != task.TooMany || e.Retry < 1 {
		t.Fatalf("fourth task: got %v", err)
	}
	if err := add("coder"); err != nil {
		t.Errorf("another queue: got %v, want no error", err)
	}
	got, err := inst.s.Signup(t.Context(), pull, "pull", 1)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if _, err := inst.s.CompleteTask(t.Context(), pull, got[0].ID, "", 0); err != nil {
		t.Fatal(err)
	}
	if err := add("pull"); err != nil {
		t.Errorf("after one task was done: got %v, want no error", err)
	}
}
