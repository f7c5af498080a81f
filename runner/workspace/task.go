package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"taskyard/runner/git"
	"taskyard/task"
)

// Task is the worktree of a task with a branch of its own, as it lies on this
// machine. A run may work in it at the same time.
type Task struct{ t *tree }

// ErrMoved says that a branch does not name the commit that was expected.
var ErrMoved = errors.New("the branch moved meanwhile")

// OpenTask returns the worktree of a task below the folder of the runs; nil when
// there is none.
func OpenTask(runs string, repo *git.Repository, w task.Worktree) (*Task, error) {
	if w.Origin == 0 {
		return nil, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(runs, task.TreeFolder(w.Origin).Name))
	if err != nil {
		return nil, nil // it was never made, or is removed
	}
	t := &tree{dir: dir, repo: repo}
	defer t.lock()()
	if !t.load() || !t.state.Task || t.state.Branch != w.Branch || !git.SameFolder(t.state.Repository, repo.Path) || !t.whole() {
		return nil, nil
	}
	return &Task{t}, nil
}

// Folder is where its files are.
func (w *Task) Folder() string { return w.t.work() }

// Home is the HOME of commands that Taskyard runs in it.
func (w *Task) Home() string { return filepath.Join(w.t.dir, homeName) }

// reload locks the worktree and reads its state again.
func (w *Task) reload() (unlock func()) {
	unlock = w.t.lock()
	w.t.load()
	return unlock
}

// Save puts what lies in the folder on the branch, by an author ("": the agent
// of its last run), and returns the tip.
func (w *Task) Save(ctx context.Context, title, author string) (commit string, err error) {
	defer w.reload()()
	w.t.author = author
	err = git.Patiently(ctx, func() error {
		commit, err = w.t.saveLive(ctx, titled(title, w.t.state.Branch))
		return err
	})
	return commit, err
}

// Changed names a file that a commit has and that lies otherwise in the folder,
// "" when there is none. New files do not count.
func (w *Task) Changed(ctx context.Context, commit string) (name string, err error) {
	defer w.reload()()
	t := w.t
	index := filepath.Join(filepath.Dir(t.own().Index()), "checked")
	b, err := os.ReadFile(t.own().Index())
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
	if differs, err := t.stage(ctx, g, t.own().In(copied).With("GIT_INDEX_FILE="+index), false); err != nil || !differs {
		return "", err
	}
	err = g.EachName(ctx, func(s string) { name = cmp.Or(name, s) },
		"diff-index", "--cached", "-z", "--name-only", "--no-ext-diff", "--no-renames", commit)
	return name, err
}

// move is a change of the files of a folder from one commit to another.
type move struct{ From, To string }

// Advance moves the branch and the files from one commit to another. Error:
// ErrMoved when the branch is elsewhere, or the folder holds more; others name
// what is in the way.
func (w *Task) Advance(ctx context.Context, before, after, title, author string) error {
	defer w.reload()()
	t := w.t
	t.author = author
	tip, err := t.saveLive(ctx, titled(title, t.state.Branch))
	switch {
	case err != nil:
		return err
	case tip == after || t.repo.Holds(ctx, tip, after):
		return nil
	case tip != before:
		return ErrMoved
	}
	c, err := t.changedFiles(ctx, before, after)
	if err == nil {
		err = t.unoccupied(c.added)
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

// rewrite finishes writing the files of a commit to which the branch was moved.
func (t *tree) rewrite(ctx context.Context) error {
	m := t.state.Write
	if m == nil {
		return nil
	}
	if tip := t.repo.Tip(ctx, t.state.Branch); tip == m.To || t.repo.Holds(ctx, tip, m.To) {
		c, err := t.changedFiles(ctx, m.From, m.To)
		if err == nil {
			err = t.put(ctx, m.To, c)
		}
		if err != nil {
			return err
		}
		_ = os.Remove(t.own().Index() + ".lock")
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

// ErrOpen says that a run works in a worktree.
var ErrOpen = errors.New("a run works there")

// Retire removes the worktree. What lies there and is not on the branch is lost.
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

// RetireFolder removes the worktree of a task that is archived, by the name of
// its folder, and reports whether it was one. That of an interrupted run stays.
func RetireFolder(ctx context.Context, runs, name string) (bool, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(runs, name))
	t := &tree{dir: dir}
	if err != nil || strings.ContainsRune(name, filepath.Separator) || !t.load() || !t.state.Task || t.state.Open {
		return false, nil
	}
	if t.repo, err = git.Open(ctx, t.state.Repository); err != nil {
		return false, nil // its branch is gone with it, or comes back
	}
	defer t.lock()()
	return true, t.retire(ctx)
}
