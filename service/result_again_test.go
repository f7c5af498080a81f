package service

import (
	"context"
	"errors"
	"testing"

	"taskyard/task"
)

func TestACheckIsRunAgain(t *testing.T) {
	t.Parallel()
	inst, git := judged(t)
	tk := inst.inWeb("pull")
	run := must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
	equal(t, "verdict", run.Verdict, task.CheckPassed)
	kept := must(inst.s.CheckRun(inst.ctx(), maya, tk.ID, run.ID))
	equal(t, "asked by", kept.AskedBy, oleg.Name)
	equal(t, "its log", kept.Log, "log of test")

	t.Run("the error for an unknown name lists the checks", func(t *testing.T) {
		_, err := inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "tset")
		refused(t, err, task.CodeNotFound, `no active check "tset"`, "its checks are test")
		_, err = inst.s.RunCheck(inst.ctx(), oleg, inst.create(maya, "pull").ID, "test")
		refused(t, err, task.CodeNotFound, "it has no checks")
		_, err = inst.s.RunCheck(inst.ctx(), oleg, 999, "test")
		refused(t, err, task.CodeTaskNotFound)
	})
	t.Run("it is not an attempt to complete the task, and hides no attempt", func(t *testing.T) {
		git.verdicts["test"] = task.CheckFailed
		_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
		refused(t, err, task.CodeChecksFailed)
		must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		delete(git.verdicts, "test")
		must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		equal(t, "failed checks shown to the agent", len(inst.task(tk.ID).Review.FailedChecks), 1)
	})
	t.Run("another verdict creates another result without votes", func(t *testing.T) {
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		first := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		equal(t, "results after the same verdict", must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Number, 1)
		git.verdicts["test"] = task.CheckFailed
		run := must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		second := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "number", second.Number, 2)
		equal(t, "the check of the result", second.Checks[0].ID, run.ID)
		equal(t, "flag", second.Flags[0], "check test failed with exit code 1")
		_, err := inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 0, first.Digest, "")
		refused(t, err, task.CodeStaleDigest)
		git.head = "moved"
		delete(git.verdicts, "test")
		must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		equal(t, "results after another commit", must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Number, 2)
		git.head = "head"
		must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test"))
		third := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "digest of the first verdict again", third.Digest, first.Digest)
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 3, third.Digest, ""))
		_, err = inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "test")
		refused(t, err, task.CodeArchived)
	})
}

func TestACheckRunOutlivesItsCall(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	ctx, cut := context.WithCancel(inst.ctx())
	first := make(chan error, 1)
	go func() {
		_, err := inst.s.RunCheck(ctx, oleg, tk.ID, "slow")
		first <- err
	}()
	<-git.began
	cut()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted call: got %v", err)
	}
	_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksRunning, "has its check slow run again by oleg")
	_, err = inst.s.RunCheck(inst.ctx(), maya, tk.ID, "slow")
	refused(t, err, task.CodeChecksRunning)
	close(git.let)
	equal(t, "verdict", must(inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "slow")).Verdict, task.CheckPassed)
	equal(t, "executions", len(must(inst.s.CheckRuns(inst.ctx(), maya, tk.ID))), 1)
}

func TestAnAgentWorksOnlyOnItsProjects(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: "api"}))
	inst.define("pull", definition("tools: read", "runner: none", "projects: [api]"))
	inst.define("coder", definition("tools: read", "runner: script", "projects: [api]"))
	inst.inWeb("pull")
	other := inst.create(maya, "pull", func(in *task.New) { in.Project = "api" })
	free := inst.create(maya, "pull")
	var claimed []task.ID
	for _, tk := range must(inst.s.Signup(inst.ctx(), pull, "pull", 3)) {
		claimed = append(claimed, tk.ID)
	}
	equal(t, "claimed", task.JoinIDs(claimed, " "), task.JoinIDs([]task.ID{other.ID, free.ID}, " "))

	tk := inst.inWeb("coder")
	working := "working"
	_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &working})
	refused(t, err, task.CodeTaskGated, "belongs to project web, and coder works only on api")
	_, err = inst.s.RunNow(inst.ctx(), maya, tk.ID)
	refused(t, err, task.CodeTaskGated, "coder works only on api")
	equal(t, "why", must(inst.s.Why(inst.ctx(), maya, tk.ID))[0].Code, task.WhyOwnerProject)
	res := must(inst.s.Tick(inst.ctx(), "cron"))
	equal(t, "runs by a tick", res.Queued, 0)
}

// TestNoRunOfAProjectThatItsAgentExcludes changes the definition, or moves the task,
// after a run was requested.
func TestNoRunOfAProjectThatItsAgentExcludes(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*instance, *task.Task) {
		inst := newInstance(t, wakes, noApprove)
		for _, key := range []string{"api", "web"} {
			must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: key}))
		}
		return inst, inst.create(maya, "coder", func(in *task.New) { in.Project = "api" })
	}
	webAlone := definition("tools: read, edit", "runner: script", "projects: [web]")
	t.Run("a queued run ends with the reason", func(t *testing.T) {
		t.Parallel()
		inst, tk := begin(t)
		r := inst.openRun(tk.ID)
		inst.define("coder", webAlone)
		inst.nothingStarts()
		r = inst.run(r.ID)
		equal(t, "state", r.State().String(), "canceled/by")
		equal(t, "reason", r.Reason, "Task 1 belongs to project api, and coder works only on web: move it to another agent")
		equal(t, "failures", inst.task(tk.ID).Failures, 0)
	})
	t.Run("a failed run is not retried", func(t *testing.T) {
		t.Parallel()
		inst, tk := begin(t)
		st := inst.start()
		inst.define("coder", webAlone)
		inst.finish(st, failure(task.PhaseError))
		inst.wantNoRun(t, tk.ID)
		equal(t, "ticked", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
		equal(t, "reason", inst.skips()[tk.ID], "project")
	})
	t.Run("no run follows a hand-over to such an agent", func(t *testing.T) {
		t.Parallel()
		inst, tk := begin(t)
		inst.define("reviewer", webAlone)
		st := inst.start()
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "and also this"))
		must(inst.move(inst.actor(st), tk.ID, "coder", "reviewer", "yours"))
		inst.finish(st, completed("moved"))
		inst.wantNoRun(t, tk.ID)
		equal(t, "why", must(inst.s.Why(inst.ctx(), maya, tk.ID))[0].Code, task.WhyOwnerProject)
	})
	t.Run("tasks of its projects run as usual", func(t *testing.T) {
		t.Parallel()
		inst, tk := begin(t)
		inst.define("coder", definition("tools: read, edit", "runner: script", "projects: [api]"))
		st := inst.start()
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "and also this"))
		inst.finish(st, completed("done"))
		equal(t, "cause", inst.openRun(tk.ID).Cause, task.CauseFollowUp)
	})
}
