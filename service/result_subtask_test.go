package service

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// mergeGit is a repository in which what happens while a merge is made is the
// test's, and which notes the targets that have moved.
type mergeGit struct {
	judgeGit
	during func()
	moved  []string
}

func (g *mergeGit) Apply(context.Context, task.MergeOrder) (*task.Merged, error) {
	if g.during != nil {
		g.during()
	}
	return &task.Merged{Before: "base", After: "merged"}, nil
}

func (g *mergeGit) Advance(_ context.Context, o task.MergeOrder, _, _ string) error {
	g.moved = append(g.moved, o.Into)
	return nil
}

func (g *mergeGit) Retire(context.Context, task.Worktree, bool) error { return nil }

// familyOfWeb is a project whose reviewer is nina, with a task and a subtask of
// it, which belongs to pull, and whose reviewer is rita.
func familyOfWeb(t *testing.T) (y *instance, git *mergeGit, parent, sub *task.Task) {
	t.Helper()
	git = &mergeGit{judgeGit: judgeGit{head: "head"}}
	y = newInstance(t, func(c *Config) { c.Repositories = git })
	y.voters()
	for _, key := range []string{"web", "api"} {
		must(y.s.CreateProject(y.ctx(), maya, task.Project{
			Key: key, Repository: "/srv/" + key, Merge: &task.Merge{Into: "main"},
			Review: task.Review{Approvals: 1, From: []string{"nina"}},
		}))
	}
	y.define("pull", definition("tools: read", "runner: none", "review: {approvals: 1, from: [rita]}"))
	parent = y.inWeb("planner", steps("a part"))
	return y, git, parent, y.subtask(maya, parent.ID, 0, "pull", noStart)
}

// handInSub completes the subtask, whose result asks rita alone.
func (y *instance) handInSub(id task.ID) {
	y.t.Helper()
	must(y.s.CompleteTask(y.ctx(), pull, id, "part", 0))
	equal(y.t, "the result asks", must(y.s.Result(y.ctx(), maya, id, 0)).Asked(), "rita")
}

func taskBranch(tk *task.Task) string {
	return "taskyard/" + tk.ID.String() + "-" + task.Slug(tk.Title, 40)
}

// end completes a task that changes nothing itself.
func (y *instance) end(git *mergeGit, id task.ID) {
	y.t.Helper()
	git.head = "base"
	must(y.s.CompleteTask(y.ctx(), maya, id, "whole", 0))
	equal(y.t, "the task above is", y.accept(nina, id).Status, task.Done)
	git.head = "head"
}

func (y *instance) moveTo(project string, id task.ID) {
	y.t.Helper()
	must(y.s.UpdateTask(y.ctx(), maya, id, task.Patch{Project: &project}))
}

// queued returns the branches that results wait to be merged into.
func (y *instance) queued() string {
	y.t.Helper()
	queue, _, err := y.s.ProjectMerges(y.ctx(), maya, "", 0, 5)
	ok(y.t, err)
	into := make([]string, len(queue))
	for i, m := range queue {
		into[i] = m.Into
	}
	return strings.Join(into, " ")
}

func (y *instance) mergeNext() {
	y.t.Helper()
	did, _, err := y.s.MergeNext(y.ctx())
	ok(y.t, err)
	equal(y.t, "a merge was looked at", did, true)
}

// needsNina checks that the subtask goes to main with the vote of nina alone.
func (y *instance) needsNina(git *mergeGit, id task.ID) {
	y.t.Helper()
	r := must(y.s.Result(y.ctx(), maya, id, 0))
	equal(y.t, "result", r.Number, 2)
	equal(y.t, "votes that are missing", r.VotesMissing(), 1)
	equal(y.t, "waits for", y.task(id).WaitingFor, task.WaitsReview)
	equal(y.t, "queued for", y.queued(), "")
	_, err := y.s.AcceptResult(y.ctx(), rita, id, 0, r.Digest, "")
	ok(y.t, err)
	equal(y.t, "waits after rita's vote for", y.task(id).WaitingFor, task.WaitsReview)
	equal(y.t, "waits after nina's vote for", y.accept(nina, id).WaitingFor, task.WaitsMerge)
	y.mergeNext()
	equal(y.t, "the subtask is", y.task(id).Status, task.Done)
	equal(y.t, "branches that have moved", strings.Join(git.moved, " "), "main")
}

func TestASubtaskIsMergedIntoTheBranchOfItsParent(t *testing.T) {
	t.Parallel()
	y, git, parent, sub := familyOfWeb(t)
	y.handInSub(sub.ID)
	equal(t, "waits for", y.accept(rita, sub.ID).WaitingFor, task.WaitsMerge)
	y.mergeNext()
	equal(t, "the subtask is", y.task(sub.ID).Status, task.Done)
	equal(t, "branches that have moved", strings.Join(git.moved, " "), taskBranch(parent))
}

// TestASubtaskWithoutItsParentNeedsTheReviewOfTheProject is about results that
// would have been reviewed as a part of the task above.
func TestASubtaskWithoutItsParentNeedsTheReviewOfTheProject(t *testing.T) {
	t.Parallel()
	leave := map[string]func(*instance, *mergeGit, task.ID){
		"the parent is done":               (*instance).end,
		"the parent is in another project": func(y *instance, _ *mergeGit, id task.ID) { y.moveTo("api", id) },
	}
	for name, leave := range leave {
		t.Run(name+" at the vote", func(t *testing.T) {
			t.Parallel()
			y, git, parent, sub := familyOfWeb(t)
			y.handInSub(sub.ID)
			leave(y, git, parent.ID)
			y.accept(rita, sub.ID)
			y.needsNina(git, sub.ID)
		})
		t.Run(name+" at the merge", func(t *testing.T) {
			t.Parallel()
			y, git, parent, sub := familyOfWeb(t)
			y.handInSub(sub.ID)
			y.accept(rita, sub.ID)
			leave(y, git, parent.ID)
			y.mergeNext()
			y.needsNina(git, sub.ID)
		})
		t.Run(name+" while the merge is made", func(t *testing.T) {
			t.Parallel()
			y, git, parent, sub := familyOfWeb(t)
			y.handInSub(sub.ID)
			y.accept(rita, sub.ID)
			git.during = func() { leave(y, git, parent.ID); git.during = nil }
			y.mergeNext()
			y.needsNina(git, sub.ID)
		})
	}
}

func TestAResultIsMergedIntoAParentThatCameIntoTheProject(t *testing.T) {
	t.Parallel()
	y, git, parent, sub := familyOfWeb(t)
	y.moveTo("api", parent.ID)
	must(y.s.CompleteTask(y.ctx(), pull, sub.ID, "part", 0))
	y.accept(rita, sub.ID)
	y.accept(nina, sub.ID)
	equal(t, "queued for", y.queued(), "main")
	y.moveTo("web", parent.ID)
	y.mergeNext()
	equal(t, "queued for", y.queued(), taskBranch(parent))
	y.mergeNext()
	equal(t, "branches that have moved", strings.Join(git.moved, " "), taskBranch(parent))
	equal(t, "the subtask is", y.task(sub.ID).Status, task.Done)
}
