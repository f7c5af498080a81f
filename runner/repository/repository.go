// Package repository is what Taskyard does in the Git repositories of projects:
// it reads what a task changed, runs checks on it, and merges it. Nothing that a
// repository names is ever run. It is what service.Repositories asks for.
package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"taskyard/runner/check"
	"taskyard/runner/git"
	"taskyard/runner/scratch"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// Options say how repositories are used.
type Options struct {
	Runs   string              // the folder of the runs, absolute: worktrees of tasks and of merges are below it
	Redact func(string) string // takes secrets out of what is shown; nil: there are none
	Check  check.Runner        // its Redact is that of the Options
}

// Repositories are all of the projects. It is safe for concurrent use. Close it.
type Repositories struct {
	o Options

	mu      sync.Mutex
	scratch *scratch.Folder // holds a private repository for each that was used
	made    map[string]bool
	locks   sync.Map // a mutex for each repository, by its folder of objects: one merge at a time
}

// New makes them.
func New(o Options) *Repositories {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	o.Check.Redact = o.Redact
	return &Repositories{o: o, made: map[string]bool{}}
}

// Close removes what they keep for themselves.
func (rs *Repositories) Close() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.scratch == nil {
		return nil
	}
	dir := rs.scratch
	rs.scratch, rs.made = nil, map[string]bool{}
	return dir.Remove(context.Background())
}

// repo is one repository, and a Git over it that reads none of its configuration.
type repo struct {
	*git.Repository
	bare git.Git
	all  *Repositories
}

// open opens a repository. Error: a *task.Error, or the end of ctx.
func (rs *Repositories) open(ctx context.Context, path string) (*repo, error) {
	r, err := git.Open(ctx, path)
	if err != nil {
		return nil, unusable(path, err)
	}
	p, err := rs.private(ctx, r)
	if err != nil {
		return nil, err
	}
	return &repo{r, p.Bare(), rs}, nil
}

// unusable is the error of a repository that cannot be used.
func unusable(path string, err error) error {
	var no *git.UnusableError
	switch {
	case errors.As(err, &no):
		return task.Errorf(task.Conflict, task.CodeRepository, "The repository %s cannot be used: %s", path, no.Reason)
	case errors.Is(err, git.ErrMissing):
		return task.Errorf(task.Conflict, task.CodeRepository, "The repository %s cannot be used: Git is not installed on the server", path)
	}
	return err
}

// failed is the error of a call of Git, or of its files, in a repository.
func failed(ctx context.Context, path, what string, err error) error {
	var known *task.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.As(err, &known):
		return known
	case git.Locked(err):
		return task.Errorf(task.Conflict, task.CodeRepository,
			"%s failed: the repository %s is locked (%s). If no Git works in it, delete that file", what, path, git.Reason(err))
	}
	return task.Errorf(task.Conflict, task.CodeRepository, "%s failed in the repository %s: %s", what, path, git.Reason(err))
}

// storeName returns the name of what is kept for a repository, by its folder of
// objects.
func storeName(common string) string {
	sum := sha256.Sum256([]byte(common))
	return hex.EncodeToString(sum[:8])
}

// private returns our own repository over the objects of another.
func (rs *Repositories) private(ctx context.Context, r *git.Repository) (git.Private, error) {
	name := storeName(r.Common)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.scratch == nil {
		dir, err := scratch.New("git")
		if err != nil {
			return git.Private{}, err
		}
		rs.scratch = dir
	}
	p := r.Private(filepath.Join(rs.scratch.Path, name))
	if rs.made[name] {
		return p, nil
	}
	if err := p.Make(ctx, ""); err != nil {
		return p, err
	}
	rs.made[name] = true
	return p, nil
}

// lock lets one merge at a time into a repository.
func (rs *Repositories) lock(r *repo) (unlock func()) {
	m, _ := rs.locks.LoadOrStore(r.Common, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}

// Snapshot puts what lies in the worktree of a task on its branch, by an author,
// and returns where the branch is against its target. Without a worktree the
// branch alone counts. Error: a *task.Error, or the end of ctx.
func (rs *Repositories) Snapshot(ctx context.Context, w task.Worktree, author string) (*task.Revision, error) {
	r, err := rs.open(ctx, w.Repository)
	if err != nil {
		return nil, err
	}
	head, err := rs.save(ctx, r, w, author)
	if err != nil {
		return nil, failed(ctx, w.Repository, "Saving the work of the task", err)
	}
	target := r.Tip(ctx, w.Target)
	if target == "" {
		return nil, task.Errorf(task.Conflict, task.CodeRepository, "The repository %s has no branch %s", w.Repository, w.Target)
	}
	base, err := r.Git.Run(ctx, nil, "merge-base", target, head)
	if err != nil {
		return nil, failed(ctx, w.Repository, "Comparing "+w.Branch+" with "+w.Target,
			task.Errorf(task.Conflict, task.CodeRepository, "The branches %s and %s of %s have no commit in common",
				w.Branch, w.Target, w.Repository))
	}
	c, err := compare(ctx, r.bare, base, head, rs.o.Redact)
	if err != nil {
		return nil, failed(ctx, w.Repository, "Comparing "+w.Branch+" with "+w.Target, err)
	}
	return &task.Revision{Base: base, Head: head, Patch: c.sum, Files: c.files, Total: c.total}, nil
}

// save returns the commit of a task's branch, with what lies in its worktree.
func (rs *Repositories) save(ctx context.Context, r *repo, w task.Worktree, author string) (string, error) {
	tree, err := workspace.OpenTask(rs.o.Runs, r.Repository, w)
	if err != nil {
		return "", err
	}
	if tree != nil {
		return tree.Save(ctx, w.Title, author)
	}
	if tip := r.Tip(ctx, w.Branch); tip != "" {
		return tip, nil
	}
	return "", task.Errorf(task.Conflict, task.CodeRepository,
		"The repository %s has no branch %s: create it on %s, and commit the work there", w.Repository, w.Branch, w.Target)
}

// Files lists what differs between two commits, by path, without lines; at most
// task.MaxFiles, of total.
func (rs *Repositories) Files(ctx context.Context, repository, from, to string) (list []task.FileChange, total int, err error) {
	r, err := rs.open(ctx, repository)
	if err != nil {
		return nil, 0, err
	}
	if err := r.known(ctx, from, to); err != nil {
		return nil, 0, err
	}
	c, err := compare(ctx, r.bare, from, to, rs.o.Redact)
	if err != nil {
		return nil, 0, failed(ctx, repository, "Comparing commits", err)
	}
	return c.files, c.total, nil
}

// known returns an error unless the names are those of commits of the repository.
func (r *repo) known(ctx context.Context, commits ...string) error {
	ask := ""
	for _, c := range commits {
		if !isCommit(c) {
			return r.lost(c)
		}
		ask += c + "\n"
	}
	said, err := r.bare.Run(ctx, strings.NewReader(ask), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return failed(ctx, r.Path, "Looking for commits", err)
	}
	for i, kind := range strings.Split(said, "\n") {
		if kind != "commit" {
			return r.lost(commits[i])
		}
	}
	return nil
}

func (r *repo) lost(commit string) error {
	return task.Errorf(task.NotFound, task.CodeRepository, "The repository %s no longer has commit %.64s", r.Path, commit)
}

// isCommit reports whether s can be the whole name of a commit.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Holds reports whether a branch contains a commit.
func (rs *Repositories) Holds(ctx context.Context, repository, branch, commit string) (bool, error) {
	r, err := rs.open(ctx, repository)
	if err != nil {
		return false, err
	}
	tip := r.Tip(ctx, branch)
	return tip != "" && isCommit(commit) && r.Holds(ctx, tip, commit), context.Cause(ctx)
}

// Retire removes the worktree of a task, and its branch if that still names a
// commit, "" for none: what was pushed to it later stays. Nothing of it there is
// nothing to do. Error: a *task.Error where the branch is checked out.
func (rs *Repositories) Retire(ctx context.Context, w task.Worktree, head string) error {
	r, err := rs.open(ctx, w.Repository)
	if err != nil {
		return err
	}
	tree, err := workspace.OpenTask(rs.o.Runs, r.Repository, w)
	if err == nil && tree != nil {
		err = tree.Retire(ctx)
	}
	if err != nil {
		return failed(ctx, w.Repository, "Removing the worktree of task "+w.TaskID.String(), err)
	}
	if head == "" || r.Tip(ctx, w.Branch) != head {
		return nil
	}
	list, err := r.Checkouts(ctx)
	if err != nil {
		return failed(ctx, w.Repository, "Listing worktrees", err)
	}
	for _, c := range list {
		if _, gone := os.Stat(c.Folder); c.Branch == w.Branch && gone == nil {
			return task.Errorf(task.Conflict, task.CodeRepository, "The branch %s is checked out in %s: check out another one there",
				w.Branch, c.Folder)
		}
	}
	_, err = r.Git.Run(ctx, nil, "update-ref", "-d", "refs/heads/"+w.Branch, head)
	return failed(ctx, w.Repository, "Deleting the branch "+w.Branch, err)
}
