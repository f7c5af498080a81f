package service

import (
	"context"
	"testing"

	"taskyard/task"
)

// farGit is a repository whose worktrees are on another server.
type farGit struct{ *heldGit }

func (farGit) Advance(context.Context, task.MergeOrder, string, string) error { return nil }
func (farGit) Retire(context.Context, task.Worktree, bool) error              { return nil }

// The server that merges removes the worktree if it has it. Where another one has
// it, that removes it by its next look at its folders, not only with the transcript.
func TestTheWorktreeOfAMergedTaskOnAnotherServerIsRemoved(t *testing.T) {
	t.Parallel()
	git := farGit{&heldGit{began: make(chan struct{}, 9), let: make(chan struct{}), merge: func() {}}}
	close(git.let)
	y := newInstance(t, noApprove, func(c *Config) { c.Repositories = git })
	heldProject(y)
	tk, st, own := y.inRun("coder", func(in *task.New) { in.Project = "api" })
	must(y.s.CompleteTask(y.ctx(), own, tk.ID, "done", 0))
	orphans := func(want int) {
		t.Helper()
		folders := []task.RunFolder{task.TreeFolder(st.Run.ID), task.StartFolder(st.Run.ID, st.Run.Lease)}
		got := must(y.s.OrphanedFolders(y.ctx(), folders))
		equal(t, "orphans", len(got), want)
		if want == 1 {
			equal(t, "orphan", got[0].Name, folders[0].Name)
		}
	}
	must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, must(y.s.Result(y.ctx(), maya, tk.ID, 1)).Digest, ""))
	y.finish(st, completed("done"))
	orphans(0)
	_, _, err := y.s.MergeNext(y.ctx())
	ok(t, err)
	equal(t, "the task is", y.task(tk.ID).Status, task.Done)
	orphans(1)
}
