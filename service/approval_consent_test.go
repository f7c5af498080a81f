package service

import (
	"testing"

	"taskyard/task"
)

func TestConsentIsForTheWordsThatWereRead(t *testing.T) {
	draft := func(y *instance) task.ID {
		tk, err := y.s.CreateTask(t.Context(), planner, task.New{Title: "a plan", Owner: "coder", Status: task.Draft})
		if err != nil {
			t.Fatal(err)
		}
		active := "active"
		if _, err := y.s.UpdateTask(t.Context(), maya, tk.ID, task.Patch{Status: &active}); err != nil {
			t.Fatal(err)
		}
		return tk.ID
	}
	for _, c := range []struct {
		name  string
		patch func(id task.ID, y *instance) error
		phase task.Phase
	}{
		{"nothing changed: the next run needs no approval", func(task.ID, *instance) error { return nil }, task.PhaseQueued},
		{"an agent changed the description: a person must approve again", func(id task.ID, y *instance) error {
			text := "now something else"
			_, err := y.s.UpdateTask(t.Context(), planner, id, task.Patch{Description: &text})
			return err
		}, task.PhaseApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := newInstance(t)
			id := draft(y)
			if err := c.patch(id, y); err != nil {
				t.Fatal(err)
			}
			r, err := y.s.RunNow(t.Context(), oleg, id)
			if err != nil || r.Phase != c.phase {
				t.Errorf("run %+v, error %v: want phase %s", r, err, c.phase)
			}
		})
	}
}

func TestADenialStandsUntilAPersonRetries(t *testing.T) {
	y := newInstance(t)
	tk, err := y.s.CreateTask(t.Context(), planner, task.New{Title: "ask", Owner: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := y.s.Tick(t.Context(), "cron"); err != nil {
		t.Fatal(err)
	}
	wait, err := y.s.Waiting(t.Context(), rita)
	if err != nil || len(wait) != 1 {
		t.Fatal(wait, err)
	}
	if _, err := y.s.DenyRun(t.Context(), rita, wait[0].ID, "not now", 0); err != nil {
		t.Fatal(err)
	}
	res, err := y.s.Tick(t.Context(), "cron")
	if err != nil || res.Queued != 0 || res.Skipped != 1 {
		t.Errorf("the next tick leaves it alone: %+v, %v", res, err)
	}
	if _, err := y.s.RetryRun(t.Context(), maya, wait[0].ID); err != nil {
		t.Errorf("a person may retry: %v", err)
	}
	if now, err := y.s.Waiting(t.Context(), rita); err != nil || len(now) != 1 || now[0].TaskID != tk.ID {
		t.Errorf("then it waits for approval again: %v, %v", now, err)
	}
}
