package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/git"
	"taskyard/task"
)

// Task is the worktree of a task with its own branch on this machine. A run may
// be working in it.
type Task struct{ t *tree }

// ErrMoved says that a branch does not point to the expected commit.
var ErrMoved = errors.New("the branch moved meanwhile")

// OpenTask returns the worktree of a task below the folder of the runs; nil if
// there is none.
func OpenTask(runs string, repo *git.Repository, w task.Worktree) (*Task, error) {
	if w.Origin == 0 {
		return nil, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(runs, task.TreeFolder(w.Origin).Name))
	if err != nil {
		return nil, nil // it was never created, or was deleted
	}
	t := &tree{dir: dir, repo: repo}
	defer t.lock()()
	if !t.load() || !t.state.Task || t.state.Branch != w.Branch || !git.SameFolder(t.state.Repository, repo.Path) || !t.isLinked() {
		return nil, nil
	}
	return &Task{t}, nil
}

// Folder returns the folder with its files.
func (w *Task) Folder() string { return w.t.work() }

// Home returns the HOME of commands that Taskyard runs in it.
func (w *Task) Home() string { return filepath.Join(w.t.dir, homeName) }

// reload locks the worktree and reloads its state.
func (w *Task) reload() (unlock func()) {
	unlock = w.t.lock()
	w.t.load()
	return unlock
}

// Save commits the contents of the folder to the branch, with an author ("":
// the agent of its last run), and returns the tip.
func (w *Task) Save(ctx context.Context, title, author string) (commit string, err error) {
	defer w.reload()()
	w.t.author = author
	err = git.RetryLocked(ctx, func() error {
		commit, err = w.t.saveLive(ctx, titled(title, w.t.state.Branch))
		return err
	})
	return commit, err
}

// Changed returns a file of a commit that differs in the folder, "" if there is
// none. New files are ignored.
func (w *Task) Changed(ctx context.Context, commit string) (name string, err error) {
	defer w.reload()()
	t := w.t
	index := filepath.Join(filepath.Dir(t.privateGit().Index()), "checked")
	b, err := os.ReadFile(t.privateGit().Index())
	if err == nil {
		err = os.WriteFile(index, b, 0o600)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(index) }()
	copied, done, err := t.copyFolder(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	g := t.git().With("GIT_INDEX_FILE=" + index)
	if _, err := g.Run(ctx, nil, "read-tree", "-i", "-m", commit); err != nil {
		return "", err
	}
	if differs, err := t.stage(ctx, g, t.privateGit().In(copied).With("GIT_INDEX_FILE="+index), commit, false); err != nil || !differs {
		return "", err
	}
	err = g.EachName(ctx, func(s string) { name = cmp.Or(name, s) },
		"diff-index", "--cached", "-z", "--name-only", "--no-ext-diff", "--no-renames", commit)
	return name, err
}

// Untracked returns the files in the folder that were not there at the last Save,
// and that the repository does not ignore.
func (w *Task) Untracked(ctx context.Context) (map[string]bool, error) {
	defer w.reload()()
	names := map[string]bool{}
	err := w.t.git().EachName(ctx, func(s string) { names[s] = true }, "ls-files", "-z", "--others", "--exclude-standard")
	return names, err
}

// RemoveUntracked deletes what Untracked returns, except the files of before and
// what cannot be deleted, and returns the sorted names of what it deleted. It leaves
// repositories within the folder, which are never committed.
func (w *Task) RemoveUntracked(ctx context.Context, before map[string]bool) (removed []string) {
	names, err := w.Untracked(ctx)
	if err != nil || ctx.Err() != nil {
		return nil
	}
	root, err := os.OpenRoot(w.Folder())
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for name := range names {
		if !before[name] && !strings.HasSuffix(name, "/") && root.Remove(name) == nil {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	return removed
}

// move is an update of a folder's files from one commit to another.
type move struct{ From, To string }

// Advance moves the branch and the files from one commit to another. It returns
// ErrMoved if the branch points elsewhere or the folder has other changes;
// other errors say what is in the way.
func (w *Task) Advance(ctx context.Context, before, after, title, author string) error {
	defer w.reload()()
	t := w.t
	t.author = author
	tip, err := t.saveLive(ctx, titled(title, t.state.Branch))
	switch {
	case err != nil:
		return err
	case tip == after || t.repo.IsAncestor(ctx, tip, after):
		return nil
	case tip != before:
		return ErrMoved
	}
	c, err := t.changedFiles(ctx, before, after)
	if err == nil {
		err = t.checkUnoccupied(c)
	}
	if err != nil {
		return err
	}
	t.state.Write = &move{before, after}
	if err := t.save(); err != nil {
		return err
	}
	if err := t.repo.Move(ctx, t.state.Branch, after, before); err != nil {
		return err
	}
	return t.rewrite(ctx)
}

// rewrite finishes writing the files of a commit that the branch was moved to.
func (t *tree) rewrite(ctx context.Context) error {
	m := t.state.Write
	if m == nil {
		return nil
	}
	if tip := t.repo.Tip(ctx, t.state.Branch); tip == m.To || t.repo.IsAncestor(ctx, tip, m.To) {
		c, err := t.changedFiles(ctx, m.From, m.To)
		if err == nil {
			err = t.put(ctx, m.To, c)
		}
		if err != nil {
			return err
		}
		_ = os.Remove(t.privateGit().Index() + ".lock")
		if _, err := t.git().Run(ctx, nil, "read-tree", "-i", "-m", m.To); err != nil {
			return err
		}
		if !t.state.Open {
			if err := t.point(ctx, m.To); err != nil {
				return err
			}
		}
		if err := t.copyIndex(); err != nil {
			return err
		}
	}
	t.state.Write = nil
	return t.save()
}

// ErrOpen says that a run is working in a worktree.
var ErrOpen = errors.New("a run works there")

// Retire deletes the worktree. Contents that are not on the branch are lost.
// Error: ErrOpen.
func (w *Task) Retire(ctx context.Context) error {
	defer w.reload()()
	if w.t.state.Open {
		return ErrOpen
	}
	return w.t.retire(ctx)
}

func (t *tree) retire(ctx context.Context) error {
	if err := t.clear(ctx); err != nil {
		return err
	}
	if err := t.remove(ctx, homeName, copyName, stateName, stateName+nextName); err != nil {
		return err
	}
	if err := os.Remove(t.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is not empty: %w", filepath.Base(t.dir), err)
	}
	return nil
}

// RetireFolder deletes the worktree of an archived task, by the name of its
// folder, and reports whether it was one. The worktree of an interrupted run
// stays.
func RetireFolder(ctx context.Context, runs, name string) (bool, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(runs, name))
	t := &tree{dir: dir}
	if err != nil || strings.ContainsRune(name, filepath.Separator) || !t.load() || !t.state.Task || t.state.Open {
		return false, nil
	}
	if t.repo, err = git.Open(ctx, t.state.Repository); err != nil {
		return false, nil // its branch was deleted with it, or will be restored
	}
	defer t.lock()()
	return true, t.retire(ctx)
}
