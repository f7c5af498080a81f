package main

import (
	"fmt"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestTheFinisherCompletesEachTask(t *testing.T) {
	t.Parallel()
	agent := queues[0]
	svc, d, err := openService(t.Context(), t.TempDir(), fmt.Sprintf(pullOnly, agent), "")
	testkit.NoError(t, err)
	defer d.Close()
	testkit.NoError(t, inChunks(t.Context(), d, 10, func(tx *db.Tx, _ int) error { return insert(tx, agent) }))
	// The first call only claims, and the one that finds the queue empty ends the lap.
	l, err := drive(1, time.Minute, newFinisher(t.Context(), svc, 1))
	if err != nil || l.ops != 10 {
		t.Errorf("got %d operations: %v", l.ops, err)
	}
	err = d.Read(t.Context(), func(rx *db.Rx) error {
		for id := range task.ID(10) {
			tk, err := rx.TaskRow(id + 1)
			if err != nil {
				return err
			}
			if tk.Status != task.Done {
				t.Errorf("task %d is %s", tk.ID, tk.Status)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
