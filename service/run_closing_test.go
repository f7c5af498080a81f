package service

import (
	"context"
	"testing"

	"taskyard/task"
)

func TestARunThatClosedItsOwnTaskEnds(t *testing.T) {
	ctx := context.Background()
	begin := func(t *testing.T, with ...func(*Config)) (*instance, *Start) {
		y := newInstance(t, with...)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(ctx, maya, tk.ID))
		return y, y.start()
	}
	complete := func(y *instance, st *Start, summary string) {
		must(y.s.CompleteTask(ctx, y.actor(st), st.Run.TaskID, summary, 0))
	}
	state := func(y *instance, st *Start) string {
		r := y.run(st.Run.ID)
		return r.State().String() + ": " + r.Summary + r.Reason
	}
	t.Run("after its time for last words, with the summary of its task, and its program is stopped", func(t *testing.T) {
		y, st := begin(t)
		stopped := make(chan error, 1)
		y.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
		complete(y, st, "All of it.")
		_, next, err := y.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "the dispatcher looks again", next, y.s.Now().Add(closingTime))
		equal(t, "run", state(y, st), "running/working: ")
		y.Forward(closingTime)
		y.nothingStarts()
		equal(t, "run", state(y, st), "completed/ended: All of it.")
		equal(t, "stopped", <-stopped, ErrStopDone)
	})
	t.Run("by itself before that, with its own summary", func(t *testing.T) {
		y, st := begin(t)
		complete(y, st, "All of it.")
		y.finish(st, completed("My last words."))
		equal(t, "run", state(y, st), "completed/ended: My last words.")
	})
	t.Run("as completed when its result is accepted before that", func(t *testing.T) {
		y := newInstance(t)
		must(y.s.CreateProject(ctx, maya, task.Project{Key: "web", Review: task.Review{Approvals: 1}}))
		tk := y.create(maya, "coder", noStart, func(in *task.New) { in.Project = "web" })
		must(y.s.RunNow(ctx, maya, tk.ID))
		st := y.start()
		complete(y, st, "All of it.")
		must(y.s.AcceptResult(ctx, rita, tk.ID, 1, must(y.s.Result(ctx, maya, tk.ID, 1)).Digest, ""))
		equal(t, "task", y.task(tk.ID).Status, task.Done)
		equal(t, "run", y.run(st.Run.ID).State().String(), "completed/ended")
	})
	t.Run("as completed also when the server or its program dies, or the server stops", func(t *testing.T) {
		for name, end := range map[string]func(y *instance, st *Start) error{
			"lost": func(y *instance, st *Start) error { return y.s.LoseRun(ctx, y.run(st.Run.ID), "gone") },
			"failed": func(y *instance, st *Start) error {
				return y.s.FinishRun(ctx, st.Run.ID, st.Run.Lease, failure(task.PhaseCrash))
			},
			"requeued": func(y *instance, st *Start) error { return y.s.RequeueRun(ctx, st.Run.ID, st.Run.Lease) },
		} {
			t.Run(name, func(t *testing.T) {
				y, st := begin(t)
				complete(y, st, "")
				ok(t, end(y, st))
				equal(t, "run", state(y, st), "completed/ended: the task was completed")
			})
		}
	})
	t.Run("so that the agent to whom it handed over may begin", func(t *testing.T) {
		y, st := begin(t, wakes)
		must(y.s.MoveTask(ctx, y.actor(st),
			Move{TaskID: st.Run.TaskID, CurrentAgent: "coder", NewAgent: "reviewer", Comment: "yours"}))
		y.Forward(closingTime)
		next, _, err := y.s.NextRun(ctx, nil)
		ok(t, err)
		equal(t, "run", state(y, st), "completed/ended: the task moved to reviewer")
		if next == nil || next.Run.Agent != "reviewer" {
			t.Errorf("started %+v", next)
		}
		equal(t, "failures", y.task(st.Run.TaskID).Failures, 0)
	})
}
