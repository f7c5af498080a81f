package service

import (
	"context"
	"testing"

	"taskyard/db"
	"taskyard/task"
)

func TestBulk(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	do := func(b Bulk) BulkDone {
		t.Helper()
		return must(inst.s.Bulk(inst.ctx(), oleg, b))
	}
	at := func(id task.ID) *task.Task { return must(inst.s.Task(inst.ctx(), maya, id)) }
	skipped := func(t *testing.T, d BulkDone, reasons ...string) {
		t.Helper()
		equal(t, "skipped", len(d.Skipped), len(reasons))
		for i, r := range reasons {
			refused(t, task.Errorf(task.Conflict, "x", "%s", d.Skipped[i].Reason), "x", r)
		}
	}
	t.Run("moves what it can and says why the rest was skipped", func(t *testing.T) {
		a, b, gone := inst.create(maya, "coder", noStart), inst.create(maya, "pull", noStart), inst.create(maya, "coder", noStart)
		must(inst.s.CompleteTask(inst.ctx(), rita, gone.ID, "", 0))
		d := do(Bulk{Act: BulkMove, IDs: []task.ID{gone.ID, b.ID, a.ID, a.ID, 999}, To: "pull", Text: "all yours"})
		equal(t, "done", len(d.Done), 1)
		skipped(t, d, "belongs to pull already", "is done, by rita", "Task not found: 999")
		equal(t, "owner", at(a.ID).Owner, "pull")
		equal(t, "comments of the skipped task", len(at(b.ID).Comments), 0)
	})
	t.Run("a task refused midway is unchanged", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft)
		before, topics := at(tk.ID), inst.s.Hub().Subscribe("task:"+tk.ID.String())
		defer topics.Close()
		d := must(mutate(inst.ctx(), inst.s, oleg, func(tx *txn) (d BulkDone, err error) {
			err = tx.attempt(func() error {
				if err := tx.handOverByPerson(before, "reviewer", "half of it", false); err != nil {
					return err
				}
				return sameError(before, "is refused")
			})
			d.Skipped = append(d.Skipped, BulkSkip{before.ID, err.Error()})
			return d, tx.event(task.EvTick, task.Event{}, nil)
		}))
		skipped(t, d, "is refused already")
		equal(t, "owner", at(tk.ID).Owner, "coder")
		equal(t, "comments", len(at(tk.ID).Comments), 0)
		equal(t, "topics", len(topics.Drain()), 0)
		if err := inst.s.db.Read(context.Background(), func(rx *db.Rx) error { return onlyErr(rx.CheckChain()) }); err != nil {
			t.Error(err)
		}
	})
	t.Run("priority, labels, start, complete", func(t *testing.T) {
		a, b := inst.create(maya, "coder", noStart), inst.create(maya, "coder", draft)
		ids := []task.ID{a.ID, b.ID}
		equal(t, "prioritized", len(do(Bulk{Act: BulkPriority, IDs: ids, Priority: 4}).Done), 2)
		skipped(t, do(Bulk{Act: BulkPriority, IDs: ids, Priority: 4}), "has the priority 4 already", "has the priority 4 already")
		equal(t, "labeled", len(do(Bulk{Act: BulkLabel, IDs: ids, Labels: []string{"b", "a"}}).Done), 2)
		equal(t, "labels", at(a.ID).Labels[0], "a")
		skipped(t, do(Bulk{Act: BulkUnlabel, IDs: ids, Labels: []string{"z"}}), "none of these labels", "none of these labels")
		equal(t, "unlabeled", len(do(Bulk{Act: BulkUnlabel, IDs: ids, Labels: []string{"a", "z"}}).Done), 2)
		skipped(t, do(Bulk{Act: BulkStart, IDs: ids}), "already active")
		equal(t, "started", at(b.ID).Status, task.Active)
		equal(t, "completed", len(do(Bulk{Act: BulkComplete, IDs: ids, Text: "both"}).Done), 2)
		equal(t, "summary", at(a.ID).Summary, "both")
	})
	t.Run("run creates a run of each, also of stuck tasks", func(t *testing.T) {
		a, b, held := inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart), inst.create(maya, "coder", draft)
		ok(t, inst.db.Write(inst.ctx(), func(tx *db.Tx) error { return tx.SetFailures(a.ID, 3) }))
		d := do(Bulk{Act: BulkRun, IDs: []task.ID{a.ID, b.ID, held.ID}})
		equal(t, "queued", len(d.Done), 2)
		skipped(t, d, "only active tasks run")
		for _, id := range d.Done {
			if tk := at(id); tk.OpenRunID == 0 || tk.Failures != 0 {
				t.Errorf("task %d: got open run %d and %d failures", id, tk.OpenRunID, tk.Failures)
			}
		}
		skipped(t, do(Bulk{Act: BulkRun, IDs: []task.ID{a.ID}}), "run")
	})
	t.Run("cancel includes subtasks and counts them separately", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart, steps("one", "two"))
		sub := must(inst.s.CreateSubtask(inst.ctx(), maya, tk.ID, 0, task.New{Title: "s", Owner: "pull", NoStart: true}))
		d := do(Bulk{Act: BulkCancel, IDs: []task.ID{tk.ID, sub.ID}, Text: "enough"})
		equal(t, "done", len(d.Done), 1)
		equal(t, "along", d.Along, 1)
		skipped(t, d)
		equal(t, "subtask", at(sub.ID).Status, task.Canceled)
	})
	t.Run("acts once per key", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		for range 2 {
			ctx := WithIdempotency(inst.ctx(), &Idempotency{Caller: "user:oleg", Key: "bulk", Request: []byte("r")})
			d := must(inst.s.Bulk(ctx, oleg, Bulk{Act: BulkPriority, IDs: []task.ID{tk.ID}, Priority: 9}))
			equal(t, "done", len(d.Done), 1)
		}
	})
	t.Run("invalid inputs are refused as a whole", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		many := make([]task.ID, task.MaxBulk+1)
		for i := range many {
			many[i] = task.ID(i + 1)
		}
		for field, b := range map[string]Bulk{
			"id": {Act: BulkStart, IDs: many}, "act": {Act: "delete"}, "comment": {Act: BulkMove, To: "pull", Text: " "},
			"priority": {Act: BulkPriority, Priority: task.MaxPriority + 1}, "labels": {Act: BulkLabel},
			"labels[0]": {Act: BulkLabel, Labels: []string{"Not good"}},
		} {
			if b.IDs == nil {
				b.IDs = []task.ID{tk.ID}
			}
			refused(t, onlyErr(inst.s.Bulk(inst.ctx(), oleg, b)), task.CodeInvalidField, field+": ")
		}
		refused(t, onlyErr(inst.s.Bulk(inst.ctx(), oleg, Bulk{Act: BulkStart})), task.CodeInvalidField, "id")
		refused(t, onlyErr(inst.s.Bulk(inst.ctx(), oleg, Bulk{Act: BulkMove, IDs: []task.ID{tk.ID}, To: "nobody", Text: "x"})),
			task.CodeUnknownAgent)
		for _, a := range []task.Actor{vera, coder} {
			refused(t, onlyErr(inst.s.Bulk(inst.ctx(), a, Bulk{Act: BulkStart, IDs: []task.ID{tk.ID}})), task.CodeForbidden)
		}
	})
}
