package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"taskyard/runner/git"
	"taskyard/task"
)

// treeLocks holds a mutex for each worktree, by folder: delegated runs begin
// from the worktree of their parent and are merged into it while it works. A
// worktree is locked before the one from which it began.
var treeLocks sync.Map

func (t *tree) lock() (unlock func()) {
	m, _ := treeLocks.LoadOrStore(t.dir, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}

// from returns the commit on which a branch begins, and the folder of the
// worktree with that state: that of the delegating run, or else "".
func (t *tree) from(ctx context.Context, o Options) (commit, parent string, err error) {
	p, unlock := t.sibling(o)
	defer unlock()
	if p == nil {
		return t.repo.Head, "", nil
	}
	if p.isLinked() {
		commit, err = p.snapshot(ctx, fmt.Sprintf("Taskyard run %d\n\nIts state when run %d began.\n", o.SharedRun, o.Run))
	} else if commit = t.repo.Tip(ctx, p.state.Branch); commit == "" { // it left nothing
		commit = p.state.Root
	}
	return commit, filepath.Base(p.dir), err
}

// sibling locks and returns the worktree of the delegating run; nil: none. The
// caller must call unlock.
func (t *tree) sibling(o Options) (p *tree, unlock func()) {
	p = &tree{dir: filepath.Join(filepath.Dir(t.dir), task.TreeFolder(o.SharedTree).Name), repo: t.repo}
	if o.Shared == "" || p.dir == t.dir {
		return nil, func() {}
	}
	unlock = p.lock()
	if !p.load() || p.state.Repository != t.repo.Path {
		p = nil
	}
	return p, unlock
}

// close finishes the work of a run, and merges that of a completed one into the
// worktree of the delegating run.
func (t *tree) close(ctx context.Context, o Options, completed bool) *task.Work {
	defer t.lock()()
	w := t.finish(ctx, o)
	if o.Shared == "" || w.Branch == "" || t.state.Task { // the change of a task is merged after it is accepted
		return w
	}
	if err := t.merge(ctx, o, w, completed); err != nil {
		w.Merge = task.ClipText(fmt.Sprintf("Not merged into the worktree of run %d: %s. Its changes are on the branch %s.",
			o.SharedRun, git.Reason(err), w.Branch), task.MaxWorkNote)
	} else {
		w.Merge = fmt.Sprintf("Merged into the worktree of run %d.", o.SharedRun)
	}
	return w
}

// merge brings the changes on the branch since its start, or since the last
// merge, into the worktree from which it began: all of them or, if files
// conflict or are in the way, none.
func (t *tree) merge(ctx context.Context, o Options, w *task.Work, completed bool) error {
	p, unlock := t.sibling(o)
	defer unlock()
	switch {
	case !completed:
		return errors.New("the run did not complete")
	case w.Folder != "":
		return errors.New("part of its work is left in its folder")
	case p == nil || t.state.Parent != filepath.Base(p.dir):
		return errors.New("that worktree is not the one from which it began")
	}
	tip, base := t.repo.Tip(ctx, t.state.Branch), t.state.Root
	if t.state.Merged != "" {
		base = t.state.Merged
	}
	if tip == base {
		return nil
	}
	apply := p.applyToBranch
	if p.isLinked() {
		apply = p.applyToFolder
	}
	if err := apply(ctx, base, tip, o); err != nil {
		return err
	}
	t.state.Merged = tip
	return t.save()
}

// applyToFolder merges into the folder of a working run.
func (t *tree) applyToFolder(ctx context.Context, base, theirs string, o Options) error {
	ours, err := t.snapshot(ctx, fmt.Sprintf("Taskyard run %d\n", o.SharedRun))
	if err != nil {
		return err
	}
	merged, err := t.bareGit().MergeTrees(ctx, base, ours, theirs)
	if err != nil {
		return err
	}
	return t.write(ctx, ours, merged)
}

// applyToBranch merges into the branch of a finished run.
func (t *tree) applyToBranch(ctx context.Context, base, theirs string, o Options) error {
	old := t.repo.Tip(ctx, t.state.Branch)
	ours := cmp.Or(old, t.state.Root)
	list, err := t.repo.Checkouts(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(c git.Checkout) bool { return c.Branch == t.state.Branch }) {
		return errors.New("its branch " + t.state.Branch + " is checked out")
	}
	if err := t.private(ctx); err != nil {
		return err
	}
	defer func() { _ = t.remove(ctx, "git") }()
	merged, err := t.bareGit().MergeTrees(ctx, base, ours, theirs)
	if err != nil {
		return err
	}
	commit, err := t.bareGit().CommitTree(ctx, merged, fmt.Sprintf("Merge run %d into run %d\n", o.Run, o.SharedRun), ours, theirs)
	if err != nil {
		return err
	}
	return t.repo.Move(ctx, t.state.Branch, commit, old)
}

// bareGit returns Git for our own repository, without a working tree.
func (t *tree) bareGit() git.Git { return t.privateGit().Bare() }
