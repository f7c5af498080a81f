package service

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// mergeGit is a repository in which the test decides what happens during a merge, and
// which records the targets that moved.
type mergeGit struct {
	judgeGit
	during func()
	looked func()       // called after a snapshot of a worktree
	refuse *task.Merged // why merges fail, nil where they do not
	moved  []string
}

func (g *mergeGit) Snapshot(ctx context.Context, w task.Worktree, author string) (*task.Revision, error) {
	rev, err := g.judgeGit.Snapshot(ctx, w, author)
	if g.looked != nil {
		g.looked()
	}
	return rev, err
}

func (g *mergeGit) Apply(context.Context, task.MergeOrder) (*task.Merged, error) {
	if g.during != nil {
		g.during()
	}
	if g.refuse != nil {
		return g.refuse, nil
	}
	return &task.Merged{Before: "base", After: "merged"}, nil
}

func (g *mergeGit) Advance(_ context.Context, o task.MergeOrder, _, _ string) error {
	g.moved = append(g.moved, o.Into)
	return nil
}

func (g *mergeGit) Retire(context.Context, task.Worktree, string) error { return nil }

// familyOfWeb returns an instance with a project whose reviewer is nina, a task, and
// its subtask, which belongs to pull and whose reviewer is rita.
func familyOfWeb(t *testing.T) (inst *instance, git *mergeGit, parent, sub *task.Task) {
	t.Helper()
	git = &mergeGit{judgeGit: judgeGit{head: "head"}}
	inst = newInstance(t, func(c *Config) { c.Repositories = git })
	inst.voters()
	for _, key := range []string{"web", "api"} {
		must(inst.s.CreateProject(inst.ctx(), maya, task.Project{
			Key: key, Repository: "/srv/" + key, Merge: &task.Merge{Into: "main"},
			Review: task.Review{Approvals: 1, From: []string{"nina"}},
		}))
	}
	inst.define("pull", definition("tools: read", "runner: none", "review: {approvals: 1, from: [rita]}"))
	parent = inst.inWeb("planner", steps("a part"))
	return inst, git, parent, inst.subtask(maya, parent.ID, 0, "pull", noStart)
}

// submitSubtask completes the subtask, whose result only rita reviews.
func (inst *instance) submitSubtask(id task.ID) {
	inst.t.Helper()
	must(inst.s.CompleteTask(inst.ctx(), pull, id, "part", 0))
	equal(inst.t, "the result asks", must(inst.s.Result(inst.ctx(), maya, id, 0)).MissingVoters(), "rita")
}

func taskBranch(tk *task.Task) string {
	return "taskyard/" + tk.ID.String() + "-" + task.Slug(tk.Title, 40)
}

// completeUnchanged completes a task without changes of its own.
func (inst *instance) completeUnchanged(git *mergeGit, id task.ID) {
	inst.t.Helper()
	git.head = "base"
	must(inst.s.CompleteTask(inst.ctx(), maya, id, "whole", 0))
	equal(inst.t, "the task above is", inst.accept(nina, id).Status, task.Done)
	git.head = "head"
}

func (inst *instance) moveTo(project string, id task.ID) {
	inst.t.Helper()
	must(inst.s.UpdateTask(inst.ctx(), maya, id, task.Patch{Project: &project}))
}

// mergeTargets returns the target branches of waiting merges.
func (inst *instance) mergeTargets() string {
	inst.t.Helper()
	queue, _, err := inst.s.ProjectMerges(inst.ctx(), maya, "", 0, 5)
	ok(inst.t, err)
	into := make([]string, len(queue))
	for i, m := range queue {
		into[i] = m.Into
	}
	return strings.Join(into, " ")
}

func (inst *instance) mergeNext() {
	inst.t.Helper()
	did, _, err := inst.s.MergeNext(inst.ctx())
	ok(inst.t, err)
	equal(inst.t, "a merge was looked at", did, true)
}

// needsNina checks that the subtask is merged into main only with nina's vote.
func (inst *instance) needsNina(git *mergeGit, id task.ID) {
	inst.t.Helper()
	r := must(inst.s.Result(inst.ctx(), maya, id, 0))
	equal(inst.t, "result", r.Number, 2)
	equal(inst.t, "votes that are missing", r.VotesMissing(), 1)
	equal(inst.t, "waits for", inst.task(id).WaitingFor, task.WaitsReview)
	equal(inst.t, "queued for", inst.mergeTargets(), "")
	_, err := inst.s.AcceptResult(inst.ctx(), rita, id, 0, r.Digest, "")
	ok(inst.t, err)
	equal(inst.t, "waits after rita's vote for", inst.task(id).WaitingFor, task.WaitsReview)
	equal(inst.t, "waits after nina's vote for", inst.accept(nina, id).WaitingFor, task.WaitsMerge)
	inst.mergeNext()
	equal(inst.t, "the subtask is", inst.task(id).Status, task.Done)
	equal(inst.t, "branches that have moved", strings.Join(git.moved, " "), "main")
}

func TestASubtaskIsMergedIntoTheBranchOfItsParent(t *testing.T) {
	t.Parallel()
	inst, git, parent, sub := familyOfWeb(t)
	inst.submitSubtask(sub.ID)
	equal(t, "waiting for", inst.accept(rita, sub.ID).WaitingFor, task.WaitsMerge)
	inst.mergeNext()
	equal(t, "status of the subtask", inst.task(sub.ID).Status, task.Done)
	equal(t, "moved branches", strings.Join(git.moved, " "), taskBranch(parent))
}

// TestASubtaskWithoutItsParentNeedsTheProjectsReview covers results that would have
// been reviewed as part of the parent.
func TestASubtaskWithoutItsParentNeedsTheProjectsReview(t *testing.T) {
	t.Parallel()
	leave := map[string]func(*instance, *mergeGit, task.ID){
		"the parent is done":               (*instance).completeUnchanged,
		"the parent is in another project": func(inst *instance, _ *mergeGit, id task.ID) { inst.moveTo("api", id) },
	}
	for name, leave := range leave {
		t.Run(name+" at the vote", func(t *testing.T) {
			t.Parallel()
			inst, git, parent, sub := familyOfWeb(t)
			inst.submitSubtask(sub.ID)
			leave(inst, git, parent.ID)
			inst.accept(rita, sub.ID)
			inst.needsNina(git, sub.ID)
		})
		t.Run(name+" at the merge", func(t *testing.T) {
			t.Parallel()
			inst, git, parent, sub := familyOfWeb(t)
			inst.submitSubtask(sub.ID)
			inst.accept(rita, sub.ID)
			leave(inst, git, parent.ID)
			inst.mergeNext()
			inst.needsNina(git, sub.ID)
		})
		t.Run(name+" during the merge", func(t *testing.T) {
			t.Parallel()
			inst, git, parent, sub := familyOfWeb(t)
			inst.submitSubtask(sub.ID)
			inst.accept(rita, sub.ID)
			git.during = func() { leave(inst, git, parent.ID); git.during = nil }
			inst.mergeNext()
			inst.needsNina(git, sub.ID)
		})
	}
}

func TestAResultIsMergedIntoAParentThatJoinedTheProject(t *testing.T) {
	t.Parallel()
	inst, git, parent, sub := familyOfWeb(t)
	inst.moveTo("api", parent.ID)
	must(inst.s.CompleteTask(inst.ctx(), pull, sub.ID, "part", 0))
	inst.accept(rita, sub.ID)
	inst.accept(nina, sub.ID)
	equal(t, "queued for", inst.mergeTargets(), "main")
	inst.moveTo("web", parent.ID)
	inst.mergeNext()
	equal(t, "queued for", inst.mergeTargets(), taskBranch(parent))
	inst.mergeNext()
	equal(t, "moved branches", strings.Join(git.moved, " "), taskBranch(parent))
	equal(t, "status of the subtask", inst.task(sub.ID).Status, task.Done)
}

// TestASubtaskIsNotMergedIntoASubmittedParent covers changes that would be merged into
// the parent's branch after the parent's result was taken from it: no one would review
// them, and they would never reach main.
func TestASubtaskIsNotMergedIntoASubmittedParent(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T, with func(inst *instance, git *mergeGit, parent task.ID)) (*instance, *mergeGit, task.ID, task.ID) {
		t.Helper()
		inst, git, parent, sub := familyOfWeb(t)
		inst.submitSubtask(sub.ID)
		inst.accept(rita, sub.ID)
		with(inst, git, parent.ID)
		inst.mergeNext()
		equal(t, "moved branches", strings.Join(git.moved, " "), "")
		queue, _, err := inst.s.ProjectMerges(inst.ctx(), maya, "", 0, 5)
		ok(t, err)
		equal(t, "state", queue[0].State, task.MergeWaiting)
		if !strings.Contains(queue[0].Reason, "task 1 was completed without this change") {
			t.Errorf("got merge that waits for %q", queue[0].Reason)
		}
		inst.Forward(mergeRetry)
		return inst, git, parent.ID, sub.ID
	}
	submit := func(inst *instance, _ *mergeGit, parent task.ID) {
		must(inst.s.CompleteTask(inst.ctx(), maya, parent, "whole", 0))
	}
	t.Run("it is merged when the parent is sent back", func(t *testing.T) {
		t.Parallel()
		inst, git, parent, sub := waiting(t, submit)
		r := must(inst.s.Result(inst.ctx(), maya, parent, 0))
		must(inst.s.RequestChanges(inst.ctx(), nina, parent, 0, r.Digest, "A part is missing."))
		inst.mergeNext()
		equal(t, "moved branches", strings.Join(git.moved, " "), taskBranch(inst.task(parent)))
		equal(t, "status of the subtask", inst.task(sub).Status, task.Done)
	})
	t.Run("it is reviewed on its own when the parent is done", func(t *testing.T) {
		t.Parallel()
		inst, git, parent, sub := waiting(t, func(inst *instance, git *mergeGit, parent task.ID) {
			git.during = func() { submit(inst, git, parent); git.during = nil }
		})
		inst.accept(nina, parent)
		inst.mergeNext() // it still waits
		inst.mergeNext()
		equal(t, "moved branches", strings.Join(git.moved, " "), "main")
		git.moved = nil
		inst.Forward(mergeRetry)
		inst.mergeNext()
		inst.needsNina(git, sub)
	})
	t.Run("a completion is repeated if it was merged meanwhile", func(t *testing.T) {
		t.Parallel()
		inst, git, parent, sub := familyOfWeb(t)
		inst.submitSubtask(sub.ID)
		inst.accept(rita, sub.ID)
		git.looked = func() { inst.Forward(time.Second); inst.mergeNext(); git.looked = nil }
		_, err := inst.s.CompleteTask(inst.ctx(), maya, parent.ID, "whole", 0)
		refused(t, err, task.CodeStaleVersion, "A subtask of task 1 was merged into its branch while its checks ran: complete it again")
		must(inst.s.CompleteTask(inst.ctx(), maya, parent.ID, "whole", 0))
	})
}

func TestChangingAProjectsMergeTargetMovesItsQueue(t *testing.T) {
	t.Parallel()
	queued := func(t *testing.T, merge *task.Merge) (*instance, *mergeGit, task.ID) {
		t.Helper()
		inst, git, parent, _ := familyOfWeb(t)
		must(inst.s.CompleteTask(inst.ctx(), maya, parent.ID, "whole", 0))
		inst.accept(nina, parent.ID)
		p := *must(inst.s.Project(inst.ctx(), maya, "web"))
		p.Merge = merge
		must(inst.s.UpdateProject(inst.ctx(), maya, p, 0))
		inst.mergeNext()
		equal(t, "moved branches", strings.Join(git.moved, " "), "")
		return inst, git, parent.ID
	}
	t.Run("to its new branch, with the votes", func(t *testing.T) {
		t.Parallel()
		inst, git, id := queued(t, &task.Merge{Into: "next"})
		equal(t, "queued for", inst.mergeTargets(), "next")
		inst.mergeNext()
		equal(t, "moved branches", strings.Join(git.moved, " "), "next")
		equal(t, "status of the task", inst.task(id).Status, task.Done)
	})
	t.Run("to nowhere", func(t *testing.T) {
		t.Parallel()
		inst, _, id := queued(t, nil)
		equal(t, "queued for", inst.mergeTargets(), "")
		equal(t, "status of the task", inst.task(id).Status, task.Done)
		equal(t, "state of its result", must(inst.s.Result(inst.ctx(), maya, id, 0)).State, task.ResultDone)
	})
}
