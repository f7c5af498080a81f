package service

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// heldGit is a repository whose checks wait until the test lets them continue.
type heldGit struct {
	Repositories
	began, let chan struct{}
	merge      func()
}

func (g *heldGit) Examine(context.Context, *task.Project) []task.Finding { return nil }

func (g *heldGit) Snapshot(context.Context, task.Worktree, string) (*task.Revision, error) {
	return &task.Revision{Base: "base", Head: "head", Patch: "patch", Total: 1}, nil
}

func (g *heldGit) Check(ctx context.Context, _ task.Worktree, _ *task.Revision, c task.Check) task.CheckRun {
	g.began <- struct{}{}
	select {
	case <-g.let:
	case <-ctx.Done():
	}
	return task.CheckRun{Verdict: task.CheckPassed}
}

func (g *heldGit) Apply(context.Context, task.MergeOrder) (*task.Merged, error) {
	g.merge()
	return &task.Merged{Before: "base", After: "merged"}, nil
}

func (g *heldGit) Advance(context.Context, task.MergeOrder, string, string) error {
	return errors.New("the target moved although the task was canceled")
}

func (g *heldGit) Contains(context.Context, string, string, string) (bool, error) { return false, nil }

func heldProject(inst *instance) *task.Task {
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{
		Key: "api", Repository: "/srv/api", Checks: []task.Check{{Name: "slow", Run: "make", Required: true}}, Merge: &task.Merge{},
	}))
	return inst.create(maya, "pull", func(in *task.New) { in.Project = "api" })
}

// newHeldTask returns an instance with a task of a project, and the repository that
// blocks its checks.
func newHeldTask(t *testing.T) (*instance, *heldGit, *task.Task) {
	git := &heldGit{began: make(chan struct{}, 9), let: make(chan struct{})}
	inst := newInstance(t, func(c *Config) { c.Repositories = git })
	return inst, git, heldProject(inst)
}

// TestChecksOutliveTheCallThatStartedThem covers a caller whose connection ends during
// the checks, as happens to every long call.
func TestChecksOutliveTheCallThatStartedThem(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	ctx, cut := context.WithCancel(inst.ctx())
	first := make(chan error, 1)
	go func() {
		_, err := inst.s.CompleteTask(ctx, pull, tk.ID, "done", 0)
		first <- err
	}()
	<-git.began
	cut()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted call: got %v", err)
	}
	_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "another summary", 0)
	refused(t, err, task.CodeChecksRunning, "is being completed by pull")
	_, err = inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksRunning)
	close(git.let)
	again := must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	equal(t, "waiting for", again.WaitingFor, task.WaitsReview)
	equal(t, "executions of the check", len(git.began), 0)
	equal(t, "results", len(must(inst.s.Results(inst.ctx(), maya, tk.ID))), 1)
}

// Otherwise they would work in the worktree beside the next run, and keep it from
// completing the task until they time out.
func TestChecksEndWithTheRunThatCompletesItsTask(t *testing.T) {
	t.Parallel()
	inst, git, _ := newHeldTask(t)
	tk := inst.create(maya, "coder", func(in *task.New) { in.Project = "api" })
	begin := func() (*Start, chan error) {
		st, got := inst.runTask(tk.ID), make(chan error, 1)
		a := inst.actor(st)
		go func() {
			_, err := inst.s.CompleteTask(inst.ctx(), a, tk.ID, "done", 0)
			got <- err
		}()
		<-git.began
		return st, got
	}
	st, first := begin()
	must(inst.s.CancelRun(inst.ctx(), maya, st.Run.ID, "not like this"))
	refused(t, <-first, task.CodeUnauthorized)
	st, second := begin()
	git.let <- struct{}{}
	ok(t, <-second)
	inst.finish(st, completed("done"))
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitsReview)

	t.Run("and a check that is run again ends with its task", func(t *testing.T) {
		got := make(chan error, 1)
		go func() {
			_, err := inst.s.RunCheck(inst.ctx(), oleg, tk.ID, "slow")
			got <- err
		}()
		<-git.began
		must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed"))
		refused(t, <-got, task.CodeArchived)
	})
}

func TestChecksDoNotEndWithTheConnectionToTheDatabase(t *testing.T) {
	t.Parallel()
	equal(t, "an unreachable database refuses", isRefusal(task.Errorf(task.Unavailable, task.CodeUnavailable, "try again")), false)
	equal(t, "an unknown error refuses", isRefusal(io.EOF), false)
	equal(t, "a canceled run refuses", isRefusal(task.Errorf(task.Unauthorized, task.CodeUnauthorized, "canceled")), true)
}

func TestCancelingATaskDuringItsMergeDoesNotMoveTheTarget(t *testing.T) {
	t.Parallel()
	inst, git, tk := newHeldTask(t)
	close(git.let)
	git.merge = func() { must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed")) }
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).Digest, ""))
	did, _, err := inst.s.MergeNext(inst.ctx())
	ok(t, err)
	equal(t, "a merge was made", did, true)
	_, ended, err := inst.s.ProjectMerges(inst.ctx(), maya, "", 0, 5)
	ok(t, err)
	equal(t, "state of the merge", ended[0].State, task.MergeStopped)
	equal(t, "status of the task", inst.task(tk.ID).Status, task.Canceled)
}

// A command that always leaves the same commit and says the same would otherwise be
// merged in vain, and woken, until its budget is used up.
func TestAResultThatCouldNotBeMergedWaitsForAPersonIfItIsSubmittedUnchanged(t *testing.T) {
	t.Parallel()
	git := &mergeGit{
		judgeGit: judgeGit{head: "head"},
		refuse:   &task.Merged{Before: "base", Code: "merge_checks_failed", Reason: "The check test did not pass"},
	}
	inst := newInstance(t, func(c *Config) { c.Repositories = git })
	inst.voters()
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: "web", Repository: "/srv/web", Merge: &task.Merge{Into: "main"}}))
	tk := inst.inWeb("pull")
	submit := func(summary string) *task.Task {
		t.Helper()
		inst.passTime(time.Second)
		return must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, summary, 0))
	}
	submit("done")
	for n := 1; n <= 2; n++ {
		inst.passTime(time.Second)
		equal(t, "waiting for", inst.accept(rita, tk.ID).WaitingFor, task.WaitsMerge)
		inst.passTime(time.Second)
		inst.mergeNext()
		equal(t, "waiting for", inst.task(tk.ID).WaitingFor, "")
		equal(t, "waiting for", submit("done").WaitingFor, task.WaitsReview)
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "flags", strings.Join(r.Flags, "; "), "unchanged since its merge failed")
		equal(t, "votes that count", len(r.Votes), 0)
		equal(t, "votes on the first result", len(must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).Votes), 1)
		equal(t, "results in the inbox", len(must(inst.s.Inbox(inst.ctx(), rita)).Reviews), 1)
	}
	t.Run("a rebase keeps its votes, but not again and again", func(t *testing.T) {
		inst.accept(rita, tk.ID)
		for _, head := range []string{"a", "b"} {
			inst.passTime(time.Second)
			inst.mergeNext()
			git.head = head
			equal(t, "waiting for "+head, submit("done").WaitingFor, task.WaitsMerge)
		}
		inst.passTime(time.Second)
		inst.mergeNext()
		git.head = "c"
		equal(t, "waiting for", submit("done").WaitingFor, task.WaitsReview)
		inst.accept(rita, tk.ID)
		git.refuse = nil
		inst.mergeNext()
		equal(t, "status", inst.task(tk.ID).Status, task.Done)
	})
}
