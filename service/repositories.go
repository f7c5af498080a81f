package service

import (
	"context"

	"taskyard/task"
)

// Repositories is what the service asks of the Git repositories of projects.
// No method runs anything that a repository names: hooks, filters, helpers.
// Errors that people may read are *task.Error.
type Repositories interface {
	// Examine looks at the repository of a project: whether it exists, the
	// branches too, and the server may write it.
	Examine(ctx context.Context, p *task.Project) []task.Finding

	// Snapshot puts what lies in the worktree of a task on its branch, and
	// returns where that is against its target. Without a worktree the branch
	// alone counts. Errors: no such branch, or it could not be read.
	Snapshot(ctx context.Context, w task.Worktree, author string) (*task.Revision, error)

	// Check executes a check in the worktree of a task, which is at a revision,
	// confined. What cannot be run is a verdict, not an error.
	Check(ctx context.Context, w task.Worktree, at *task.Revision, c task.Check) task.CheckRun

	// Files lists what differs between two commits, by path, without lines; at
	// most task.MaxFiles, of total.
	Files(ctx context.Context, repository, from, to string) (list []task.FileChange, total int, err error)

	// FileDiff compares one file in two commits, with so many lines of context.
	FileDiff(ctx context.Context, repository, from, to, path string, lines int) (*task.FileChange, error)

	// Apply applies an accepted change to the head of its target in a folder of
	// its own and runs the checks there. The target does not move.
	Apply(ctx context.Context, o task.MergeOrder) (*task.Merged, error)

	// Advance moves the target from one commit to another, and the files of a
	// clean work tree with it. Errors: a *task.Error of CodeMergeWaits where
	// local changes are in the way, of CodeMergeMoved where the target has moved.
	Advance(ctx context.Context, o task.MergeOrder, before, after string) error

	// Contains reports whether a branch contains a commit.
	Contains(ctx context.Context, repository, branch, commit string) (bool, error)

	// Retire removes the worktree of a task, and its branch if that still names
	// a commit, "" for none.
	Retire(ctx context.Context, w task.Worktree, head string) error
}
