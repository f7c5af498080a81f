package service

import (
	"context"
	"testing"

	"taskyard/task"
)

func TestARunThatClosedItsOwnTaskEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	begin := func(t *testing.T, with ...func(*Config)) (*instance, *Start) {
		inst := newInstance(t, with...)
		tk := inst.create(maya, "coder", noStart)
		return inst, inst.runTask(tk.ID)
	}
	complete := func(inst *instance, st *Start, summary string) {
		must(inst.s.CompleteTask(ctx, inst.actor(st), st.Run.TaskID, summary, 0))
	}
	state := func(inst *instance, st *Start) string {
		r := inst.run(st.Run.ID)
		return r.State().String() + ": " + r.Summary + r.Reason
	}
	t.Run("after the closing time, with its task's summary, and its program is stopped", func(t *testing.T) {
		inst, st := begin(t)
		stopped := make(chan error, 1)
		inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
		complete(inst, st, "All of it.")
		_, next, err := inst.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "the dispatcher's next check", next, inst.s.Now().Add(closingTime))
		equal(t, "run", state(inst, st), "running/working: ")
		inst.Forward(closingTime)
		inst.nothingStarts()
		equal(t, "run", state(inst, st), "completed/ended: All of it.")
		equal(t, "stopped", <-stopped, ErrStopDone)
	})
	t.Run("earlier by itself, with its own summary", func(t *testing.T) {
		inst, st := begin(t)
		complete(inst, st, "All of it.")
		inst.finish(st, completed("My last words."))
		equal(t, "run", state(inst, st), "completed/ended: My last words.")
	})
	t.Run("as completed if its result is accepted earlier", func(t *testing.T) {
		inst := newInstance(t)
		must(inst.s.CreateProject(ctx, maya, task.Project{Key: "web", Review: task.Review{Approvals: 1}}))
		tk := inst.create(maya, "coder", noStart, func(in *task.New) { in.Project = "web" })
		st := inst.runTask(tk.ID)
		complete(inst, st, "All of it.")
		must(inst.s.AcceptResult(ctx, rita, tk.ID, 1, must(inst.s.Result(ctx, maya, tk.ID, 1)).Digest, ""))
		equal(t, "task", inst.task(tk.ID).Status, task.Done)
		equal(t, "run", inst.run(st.Run.ID).State().String(), "completed/ended")
	})
	t.Run("as completed even if the server or its program dies, or the server stops", func(t *testing.T) {
		for name, end := range map[string]func(inst *instance, st *Start) error{
			"lost": func(inst *instance, st *Start) error { return inst.s.LoseRun(ctx, inst.run(st.Run.ID), "gone") },
			"failed": func(inst *instance, st *Start) error {
				return inst.s.FinishRun(ctx, st.Run.ID, st.Run.Lease, failure(task.PhaseCrash))
			},
			"requeued": func(inst *instance, st *Start) error { return inst.s.RequeueRun(ctx, st.Run.ID, st.Run.Lease) },
		} {
			t.Run(name, func(t *testing.T) {
				inst, st := begin(t)
				complete(inst, st, "")
				ok(t, end(inst, st))
				equal(t, "run", state(inst, st), "completed/ended: the task was completed")
			})
		}
	})
	t.Run("so that the next owner may start", func(t *testing.T) {
		inst, st := begin(t, wakes)
		must(inst.s.MoveTask(ctx, inst.actor(st),
			Move{TaskID: st.Run.TaskID, CurrentAgent: "coder", NewAgent: "reviewer", Comment: "yours"}))
		inst.Forward(closingTime)
		next, _, err := inst.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "run", state(inst, st), "completed/ended: the task moved to reviewer")
		if next == nil || next.Run.Agent != "reviewer" {
			t.Errorf("got %+v", next)
		}
		equal(t, "failures", inst.task(st.Run.TaskID).Failures, 0)
	})
}
