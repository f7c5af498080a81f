package service

import (
	"context"
	"errors"
	"testing"

	"taskyard/task"
)

func TestACheckIsRunAgain(t *testing.T) {
	t.Parallel()
	y, git := judged(t)
	tk := y.inWeb("pull")
	run := must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
	equal(t, "verdict", run.Verdict, task.CheckPassed)
	kept := must(y.s.CheckRun(y.ctx(), maya, tk.ID, run.ID))
	equal(t, "asked by", kept.AskedBy, oleg.Name)
	equal(t, "its log", kept.Log, "log of test")

	t.Run("an unknown name says which there are", func(t *testing.T) {
		_, err := y.s.RunCheck(y.ctx(), oleg, tk.ID, "tset")
		refused(t, err, task.CodeNotFound, `No check "tset"`, "they are test")
		_, err = y.s.RunCheck(y.ctx(), oleg, y.create(maya, "pull").ID, "test")
		refused(t, err, task.CodeNotFound, "it has none")
		_, err = y.s.RunCheck(y.ctx(), oleg, 999, "test")
		refused(t, err, task.CodeTaskNotFound)
	})
	t.Run("it is no attempt to complete the task, and hides none", func(t *testing.T) {
		git.verdicts["test"] = task.CheckFailed
		_, err := y.s.CompleteTask(y.ctx(), pull, tk.ID, "done", 0)
		refused(t, err, task.CodeChecksFailed)
		must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		delete(git.verdicts, "test")
		must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		equal(t, "failed checks that the agent is told", len(y.task(tk.ID).Review.FailedChecks), 1)
	})
	t.Run("another verdict makes another result, which nobody has accepted", func(t *testing.T) {
		must(y.s.CompleteTask(y.ctx(), pull, tk.ID, "done", 0))
		first := must(y.s.Result(y.ctx(), maya, tk.ID, 0))
		must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		equal(t, "results after the same verdict", must(y.s.Result(y.ctx(), maya, tk.ID, 0)).Number, 1)
		git.verdicts["test"] = task.CheckFailed
		run := must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		second := must(y.s.Result(y.ctx(), maya, tk.ID, 0))
		equal(t, "number", second.Number, 2)
		equal(t, "the check of the result", second.Checks[0].ID, run.ID)
		equal(t, "flag", second.Flags[0], "check test failed with exit code 1")
		_, err := y.s.AcceptResult(y.ctx(), rita, tk.ID, 0, first.Digest, "")
		refused(t, err, task.CodeStaleDigest)
		git.head = "moved"
		delete(git.verdicts, "test")
		must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		equal(t, "results after another commit", must(y.s.Result(y.ctx(), maya, tk.ID, 0)).Number, 2)
		git.head = "head"
		must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "test"))
		third := must(y.s.Result(y.ctx(), maya, tk.ID, 0))
		equal(t, "digest of the first verdict again", third.Digest, first.Digest)
		must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 3, third.Digest, ""))
		_, err = y.s.RunCheck(y.ctx(), oleg, tk.ID, "test")
		refused(t, err, task.CodeArchived)
	})
}

func TestARunOfACheckOutlivesItsCall(t *testing.T) {
	t.Parallel()
	y, git, tk := newHeldTask(t)
	ctx, cut := context.WithCancel(y.ctx())
	first := make(chan error, 1)
	go func() {
		_, err := y.s.RunCheck(ctx, oleg, tk.ID, "slow")
		first <- err
	}()
	<-git.began
	cut()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatalf("the call that was cut: %v", err)
	}
	_, err := y.s.CompleteTask(y.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksRunning, "has its check slow run again by oleg")
	_, err = y.s.RunCheck(y.ctx(), maya, tk.ID, "slow")
	refused(t, err, task.CodeChecksRunning)
	close(git.let)
	equal(t, "verdict", must(y.s.RunCheck(y.ctx(), oleg, tk.ID, "slow")).Verdict, task.CheckPassed)
	equal(t, "executions", len(must(y.s.CheckRuns(y.ctx(), maya, tk.ID))), 1)
}

func TestAnAgentWorksOnItsProjectsAlone(t *testing.T) {
	t.Parallel()
	y, _ := judged(t)
	must(y.s.CreateProject(y.ctx(), maya, task.Project{Key: "api"}))
	y.define("pull", definition("tools: read", "runner: none", "projects: [api]"))
	y.define("coder", definition("tools: read", "runner: script", "projects: [api]"))
	y.inWeb("pull")
	other := y.create(maya, "pull", func(in *task.New) { in.Project = "api" })
	free := y.create(maya, "pull")
	var claimed []task.ID
	for _, tk := range must(y.s.Signup(y.ctx(), pull, "pull", 3)) {
		claimed = append(claimed, tk.ID)
	}
	equal(t, "claimed", task.JoinIDs(claimed, " "), task.JoinIDs([]task.ID{other.ID, free.ID}, " "))

	tk := y.inWeb("coder")
	working := "working"
	_, err := y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Status: &working})
	refused(t, err, task.CodeTaskGated, "belongs to project web, and coder works only on api")
	_, err = y.s.RunNow(y.ctx(), maya, tk.ID)
	refused(t, err, task.CodeTaskGated, "coder works only on api")
	equal(t, "why", must(y.s.Why(y.ctx(), maya, tk.ID))[0].Code, task.WhyOwnerProject)
	res := must(y.s.Tick(y.ctx(), "cron"))
	equal(t, "runs by a tick", res.Queued, 0)
}

// TestNoRunOfAProjectThatItsAgentLeavesOut: the definition changes, or the task
// moves, after the run was asked for.
func TestNoRunOfAProjectThatItsAgentLeavesOut(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, *task.Task) {
		y := newInstance(t, wakes, noApprove)
		for _, key := range []string{"api", "web"} {
			must(y.s.CreateProject(y.ctx(), maya, task.Project{Key: key}))
		}
		return y, y.create(maya, "coder", func(in *task.New) { in.Project = "api" })
	}
	webAlone := definition("tools: read, edit", "runner: script", "projects: [web]")
	t.Run("a queued run ends, and says why", func(t *testing.T) {
		t.Parallel()
		y, tk := begin(t)
		r := y.openRun(tk.ID)
		y.define("coder", webAlone)
		y.nothingStarts()
		r = y.run(r.ID)
		equal(t, "state", r.State().String(), "canceled/by")
		equal(t, "reason", r.Reason, "Task 1 belongs to project api, and coder works only on web: move it to another agent")
		equal(t, "failures", y.task(tk.ID).Failures, 0)
	})
	t.Run("a failed run is not tried again", func(t *testing.T) {
		t.Parallel()
		y, tk := begin(t)
		st := y.start()
		y.define("coder", webAlone)
		y.finish(st, failure(task.PhaseError))
		y.asleep(t, tk.ID)
		equal(t, "ticked", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
		equal(t, "reason", y.skips()[tk.ID], "project")
	})
	t.Run("none follows for the agent to whom a run hands over", func(t *testing.T) {
		t.Parallel()
		y, tk := begin(t)
		y.define("reviewer", webAlone)
		st := y.start()
		must(y.s.Comment(y.ctx(), maya, tk.ID, "and also this"))
		must(y.move(y.actor(st), tk.ID, "coder", "reviewer", "yours"))
		y.finish(st, completed("moved"))
		y.asleep(t, tk.ID)
		equal(t, "why", must(y.s.Why(y.ctx(), maya, tk.ID))[0].Code, task.WhyOwnerProject)
	})
	t.Run("those of its projects run as ever", func(t *testing.T) {
		t.Parallel()
		y, tk := begin(t)
		y.define("coder", definition("tools: read, edit", "runner: script", "projects: [api]"))
		st := y.start()
		must(y.s.Comment(y.ctx(), maya, tk.ID, "and also this"))
		y.finish(st, completed("done"))
		equal(t, "cause", y.openRun(tk.ID).Cause, task.CauseFollowUp)
	})
}
