package service

import (
	"testing"

	"taskyard/task"
)

func TestConsentCoversOnlyTheTextThatWasRead(t *testing.T) {
	t.Parallel()
	draft := func(inst *instance) task.ID {
		tk, err := inst.s.CreateTask(t.Context(), planner, task.New{Title: "a plan", Owner: "coder", Status: task.Draft})
		ok(t, err)
		active := "active"
		if _, err := inst.s.UpdateTask(t.Context(), maya, tk.ID, task.Patch{Status: &active}); err != nil {
			t.Fatal(err)
		}
		return tk.ID
	}
	for _, c := range []struct {
		name  string
		patch func(id task.ID, inst *instance) error
		phase task.Phase
	}{
		{"nothing changed: the next run needs no approval", func(task.ID, *instance) error { return nil }, task.PhaseQueued},
		{"an agent changed the description: a person must approve again", func(id task.ID, inst *instance) error {
			text := "now something else"
			_, err := inst.s.UpdateTask(t.Context(), planner, id, task.Patch{Description: &text})
			return err
		}, task.PhaseApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			inst := newInstance(t)
			id := draft(inst)
			ok(t, c.patch(id, inst))
			r, err := inst.s.RunNow(t.Context(), oleg, id)
			if err != nil || r.Phase != c.phase {
				t.Errorf("got run %+v, error %v, want phase %s", r, err, c.phase)
			}
		})
	}
}

func TestADenialLastsUntilAPersonRetries(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, err := inst.s.CreateTask(t.Context(), planner, task.New{Title: "ask", Owner: "coder"})
	ok(t, err)
	if _, err := inst.s.Tick(t.Context(), "cron"); err != nil {
		t.Fatal(err)
	}
	wait, err := inst.s.Waiting(t.Context(), rita)
	if err != nil || len(wait) != 1 {
		t.Fatal(wait, err)
	}
	if _, err := inst.s.DenyRun(t.Context(), rita, wait[0].ID, "not now", 0); err != nil {
		t.Fatal(err)
	}
	res, err := inst.s.Tick(t.Context(), "cron")
	if err != nil || res.Queued != 0 || res.Skipped != 1 {
		t.Errorf("next tick: got %+v, %v, want no run", res, err)
	}
	if _, err := inst.s.RetryRun(t.Context(), maya, wait[0].ID); err != nil {
		t.Errorf("retry by a person: got error %v", err)
	}
	if now, err := inst.s.Waiting(t.Context(), rita); err != nil || len(now) != 1 || now[0].TaskID != tk.ID {
		t.Errorf("after the retry: got %v, %v, want a run that waits for approval", now, err)
	}
}
