package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"taskyard/runner/git"
	"taskyard/runner/instance"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// Advance moves the target from one commit to another, and updates the folders
// in which it is checked out. If the server is killed in the meantime, the
// target points to one or the other commit; called again, Advance finishes the
// rest, even if the target has moved on. It returns a *task.Error with
// CodeMergeWaits if local changes or a lock are in the way, and with
// CodeMergeMoved if the target points elsewhere; nothing is changed then.
func (rs *Repositories) Advance(ctx context.Context, o task.MergeOrder, before, after string) error {
	r, err := rs.open(ctx, o.Repository)
	if err != nil {
		return err
	}
	if err := r.checkCommits(ctx, before, after); err != nil {
		return err
	}
	defer rs.lock(r)()
	r.recover()
	if o.ParentTree.Origin != 0 {
		tree, err := workspace.OpenTask(rs.o.Runs, r.Repository, o.ParentTree)
		if err != nil {
			return failed(ctx, o.Repository, "Merging into "+o.Into, err)
		}
		if tree != nil {
			return rs.advanceTree(ctx, r, tree, o, before, after)
		}
	}
	return rs.advance(ctx, r, o, before, after)
}

// advanceTree merges into the worktree of a parent task, in which a run may be
// working.
func (rs *Repositories) advanceTree(ctx context.Context, r *repo, tree *workspace.Task, o task.MergeOrder, before, after string) error {
	err := tree.Advance(ctx, before, after, o.ParentTree.Title, "")
	var known *task.Error
	switch {
	case err == nil:
		return r.finish(ctx, o, after)
	case ctx.Err() != nil, errors.As(err, &known):
		return err
	case errors.Is(err, workspace.ErrMoved):
		return movedError(o)
	}
	return waitsErrorf("The merge into %s waits: %s", o.Into, git.Reason(err))
}

func movedError(o task.MergeOrder) error {
	return task.Errorf(task.Conflict, task.CodeMergeMoved, "%s moved while the merge was prepared", o.Into)
}

func (rs *Repositories) advance(ctx context.Context, r *repo, o task.MergeOrder, before, after string) error {
	tip := r.Tip(ctx, o.Into)
	if tip != before && tip != after {
		if r.IsAncestor(ctx, tip, after) {
			return r.finish(ctx, o, after)
		}
		return movedError(o)
	}
	if folder := r.rebasing(o.Into); folder != "" && tip == before {
		return waitsErrorf("The merge into %s waits: a rebase of that branch is in progress (%s). Finish or abort it", o.Into, folder)
	}
	list, err := r.Checkouts(ctx)
	if err != nil {
		return failed(ctx, o.Repository, "Listing worktrees", err)
	}
	var open []*checkout
	defer func() {
		for _, c := range open {
			c.close()
		}
	}()
	for _, place := range list {
		if _, gone := os.Stat(place.Folder); place.Branch != o.Into || gone != nil || r.Bare && git.SameFolder(place.Folder, r.Path) {
			continue
		}
		if instance.IsWithin(rs.o.Runs, place.Folder) {
			return waitsErrorf("The merge into %s waits: a task works on that branch", o.Into)
		}
		c, err := rs.openCheckout(ctx, r, place.Folder, before, after, tip == after)
		if c != nil {
			open = append(open, c)
		}
		if err != nil {
			return waitError(ctx, o, place.Folder, err)
		}
	}
	if tip == before && before != after {
		err := r.withGuard(ctx, "refs/heads/"+o.Into, func() error {
			return git.RetryLocked(ctx, func() error { return r.Move(ctx, o.Into, after, before) })
		})
		if err != nil {
			switch now := r.Tip(ctx, o.Into); {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case now != before && now != after:
				return movedError(o)
			case now == before:
				return waitsErrorf("The merge into %s waits: the branch cannot be moved (%s)", o.Into, git.Reason(err))
			}
		}
	}
	for _, c := range open {
		if err := c.write(context.WithoutCancel(ctx)); err != nil {
			return waitError(ctx, o, c.folder, err)
		}
	}
	return r.finish(ctx, o, after)
}

// rebasing returns Git's folder of a rebase of a branch, "" if there is none. At
// its end, or when it is aborted, Git sets the branch back to what it was.
func (r *repo) rebasing(branch string) string {
	for _, admin := range r.admins() {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			dir := filepath.Join(admin, kind)
			if b, err := workspace.ReadIn(dir, "head-name"); err == nil && strings.TrimSpace(string(b)) == "refs/heads/"+branch {
				return dir
			}
		}
	}
	return ""
}

// admins returns Git's metadata folders of all work trees.
func (r *repo) admins() []string {
	list := []string{r.Common}
	entries, _ := os.ReadDir(filepath.Join(r.Common, "worktrees")) // there may be none
	for _, e := range entries {
		list = append(list, filepath.Join(r.Common, "worktrees", e.Name()))
	}
	return list
}

// finish pushes if required, and removes the records of the merge.
func (r *repo) finish(ctx context.Context, o task.MergeOrder, after string) error {
	if o.Push != "" {
		if err := r.push(ctx, o, after); err != nil {
			return err
		}
	}
	r.release(ctx, o)
	return nil
}

// waitError returns the error for a folder that cannot be updated.
func waitError(ctx context.Context, o task.MergeOrder, folder string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return waitsErrorf("The merge waits: %s is checked out in %s, and %s", o.Into, folder, git.Reason(err))
}
