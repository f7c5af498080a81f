package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"taskyard/task"
)

// treeLocks holds a mutex for each worktree, by folder: the runs that a run
// delegates begin from its worktree and are merged into it while it works. A
// worktree is locked before the one from which it began.
var treeLocks sync.Map

func (t *tree) lock() (unlock func()) {
	m, _ := treeLocks.LoadOrStore(t.dir, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}

// from returns the commit on which a branch begins, and the folder of the
// worktree whose state that is: of the run that delegated this one, else "".
func (t *tree) from(ctx context.Context, o Options) (commit, parent string, err error) {
	p, unlock := t.sibling(o)
	defer unlock()
	if p == nil {
		return t.repo.head, "", nil
	}
	if p.whole() {
		commit, err = p.snapshot(ctx, fmt.Sprintf("Taskyard run %d\n\nIts state when run %d began.\n", o.SharedRun, o.Run))
	} else if commit = t.repo.tip(ctx, p.state.Branch); commit == "" { // it left nothing
		commit = p.state.Root
	}
	return commit, filepath.Base(p.dir), err
}

// sibling locks and returns the worktree of the run that delegated this one;
// nil: none. The caller calls unlock.
func (t *tree) sibling(o Options) (p *tree, unlock func()) {
	p = &tree{dir: filepath.Join(filepath.Dir(t.dir), task.TreeFolder(o.SharedTree).Name), repo: t.repo}
	if o.Shared == "" || p.dir == t.dir {
		return nil, func() {}
	}
	unlock = p.lock()
	if !p.load() || p.state.Repository != t.repo.path {
		p = nil
	}
	return p, unlock
}

// close finishes the work of a run, and merges that of a completed one into the
// worktree of the run that delegated it.
func (t *tree) close(ctx context.Context, o Options, completed bool) *task.Work {
	defer t.lock()()
	w := t.finish(ctx, o)
	if o.Shared == "" || w.Branch == "" {
		return w
	}
	if err := t.merge(ctx, o, w, completed); err != nil {
		w.Merge = task.ClipText(fmt.Sprintf("Not merged into the worktree of run %d: %s. Its changes are on the branch %s.",
			o.SharedRun, reason(err), w.Branch), task.MaxWorkNote)
	} else {
		w.Merge = fmt.Sprintf("Merged into the worktree of run %d.", o.SharedRun)
	}
	return w
}

// merge brings what changed on the branch since it began, or was merged last,
// into the worktree from which it began: all of it or, where files are in
// conflict or in the way, nothing.
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
	tip, base := t.repo.tip(ctx, t.state.Branch), t.state.Root
	if t.state.Merged != "" {
		base = t.state.Merged
	}
	if tip == base {
		return nil
	}
	apply := p.applyToBranch
	if p.whole() {
		apply = p.applyToFolder
	}
	if err := apply(ctx, base, tip, o); err != nil {
		return err
	}
	t.state.Merged = tip
	return t.save()
}

// applyToFolder merges into the folder in which a run works.
func (t *tree) applyToFolder(ctx context.Context, base, theirs string, o Options) error {
	ours, err := t.snapshot(ctx, fmt.Sprintf("Taskyard run %d\n", o.SharedRun))
	if err != nil {
		return err
	}
	merged, err := t.mergeTrees(ctx, base, ours, theirs)
	if err != nil {
		return err
	}
	return t.write(ctx, ours, merged)
}

// applyToBranch merges into the branch of a run that has ended.
func (t *tree) applyToBranch(ctx context.Context, base, theirs string, o Options) error {
	ours, old := t.repo.tip(ctx, t.state.Branch), ""
	if old = ours; ours == "" {
		ours, old = t.state.Root, strings.Repeat("0", len(theirs))
	}
	if list, err := t.repo.git.run(ctx, nil, "worktree", "list", "--porcelain"); err != nil {
		return err
	} else if strings.Contains(list+"\n", "\nbranch refs/heads/"+t.state.Branch+"\n") {
		return errors.New("its branch " + t.state.Branch + " is checked out")
	}
	if err := t.private(ctx); err != nil {
		return err
	}
	defer func() { _ = t.remove(ctx, "git") }()
	merged, err := t.mergeTrees(ctx, base, ours, theirs)
	if err != nil {
		return err
	}
	commit, err := t.commitTree(ctx, merged, fmt.Sprintf("Merge run %d into run %d\n", o.Run, o.SharedRun), ours, theirs)
	if err != nil {
		return err
	}
	_, err = t.repo.git.run(ctx, nil, "update-ref", "-m", "taskyard", "refs/heads/"+t.state.Branch, commit, old)
	return err
}

// mergeTrees merges the files of two commits that both come from a third, and
// returns the tree. The error names the files in conflict.
func (t *tree) mergeTrees(ctx context.Context, base, ours, theirs string) (string, error) {
	sides := [2]string{ours, theirs}
	for i, side := range sides { // each as if it were made on the base: so that is what Git compares them with
		commit, err := t.commitTree(ctx, side+"^{tree}", "side\n", base)
		if err != nil {
			return "", err
		}
		sides[i] = commit
	}
	said, err := t.plain().run(ctx, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", sides[0], sides[1])
	names := strings.Split(strings.TrimRight(said, "\x00"), "\x00")
	switch {
	case err == nil && len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", errors.New("conflicts in " + task.ClipText(printable(strings.Join(names[1:], ", ")), 1000))
	}
	return "", fmt.Errorf("it could not be merged (%s)", reason(err))
}

func (t *tree) commitTree(ctx context.Context, files, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", files}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return t.plain().run(ctx, strings.NewReader(message), args...)
}

// plain is Git in our own repository, called where it need not have files.
func (t *tree) plain() git {
	g := t.git()
	g.dir = t.dir
	return g
}
