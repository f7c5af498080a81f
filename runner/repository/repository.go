// Package repository implements Taskyard's operations on the Git repositories
// of projects: it reads what a task changed, runs checks on it, and merges it.
// Nothing that a repository names is ever executed. It implements
// service.Repositories.
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

// Options configures Repositories.
type Options struct {
	Runs   string              // the folder of the runs, absolute, with the worktrees of tasks and merges
	Redact func(string) string // removes secrets from results; nil: there are none
	Check  check.Runner        // its Redact is replaced by that of the Options
}

// Repositories gives access to the repositories of all projects. It is safe for
// concurrent use and must be closed.
type Repositories struct {
	o Options

	mu       sync.Mutex
	scratch  *scratch.Folder // holds a private repository for each one that was used
	prepared map[string]bool
	locks    sync.Map // a mutex for each repository, by its objects folder: one merge at a time
}

// New returns Repositories with the given options.
func New(o Options) *Repositories {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	o.Check.Redact = o.Redact
	return &Repositories{o: o, prepared: map[string]bool{}}
}

// Close deletes its private repositories.
func (rs *Repositories) Close() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.scratch == nil {
		return nil
	}
	dir := rs.scratch
	rs.scratch, rs.prepared = nil, map[string]bool{}
	return dir.Remove(context.Background())
}

// repo is one repository, with a Git that reads none of its configuration.
type repo struct {
	*git.Repository
	bare    git.Git
	account git.Git // reads the configuration of the server's account
	all     *Repositories
}

// open opens a repository. It returns a *task.Error, or the cause of ctx.
func (rs *Repositories) open(ctx context.Context, path string) (*repo, error) {
	r, err := git.Open(ctx, path)
	if err != nil {
		return nil, unusable(path, err)
	}
	p, err := rs.private(ctx, r)
	if err != nil {
		return nil, err
	}
	return &repo{r, p.Bare(), p.Account(), rs}, nil
}

// unusable returns the error for a repository that cannot be used.
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

// failed returns the error for a failed Git call or file operation in a
// repository.
func failed(ctx context.Context, path, what string, err error) error {
	var known *task.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.As(err, &known):
		return known
	case git.IsLocked(err):
		return task.Errorf(task.Conflict, task.CodeRepository,
			"%s failed: the repository %s is locked (%s). If no Git works in it, delete that file", what, path, git.Reason(err))
	}
	return task.Errorf(task.Conflict, task.CodeRepository, "%s failed in the repository %s: %s", what, path, git.Reason(err))
}

// storeName returns a name for data about a repository, derived from its
// objects folder.
func storeName(common string) string {
	sum := sha256.Sum256([]byte(common))
	return hex.EncodeToString(sum[:8])
}

// private returns our own repository on top of another one's objects.
func (rs *Repositories) private(ctx context.Context, r *git.Repository) (git.Private, error) {
	name := storeName(r.Common)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.scratch == nil || !rs.scratch.Whole() {
		rs.prepared = map[string]bool{}
		dir, err := scratch.New("git")
		if err != nil {
			return git.Private{}, err
		}
		rs.scratch = dir
	}
	p := r.Private(filepath.Join(rs.scratch.Path, name))
	if rs.prepared[name] && p.Whole() {
		return p, nil
	}
	if err := p.Make(ctx, ""); err != nil {
		return p, err
	}
	rs.prepared[name] = true
	return p, nil
}

// lock allows one merge at a time in a repository.
func (rs *Repositories) lock(r *repo) (unlock func()) {
	m, _ := rs.locks.LoadOrStore(r.Common, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}

// Snapshot commits the contents of a task's worktree to its branch, with the
// given author, and returns the state of the branch relative to its target.
// Without a worktree, only the branch counts. It returns a *task.Error, or the
// cause of ctx.
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

// save returns the commit of a task's branch, including the contents of its
// worktree.
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

// Files lists the files that differ between two commits, by path, without
// lines: at most task.MaxFiles, out of total.
func (rs *Repositories) Files(ctx context.Context, repository, from, to string) (list []task.FileChange, total int, err error) {
	r, err := rs.open(ctx, repository)
	if err != nil {
		return nil, 0, err
	}
	if err := r.checkCommits(ctx, from, to); err != nil {
		return nil, 0, err
	}
	c, err := compare(ctx, r.bare, from, to, rs.o.Redact)
	if err != nil {
		return nil, 0, failed(ctx, repository, "Comparing commits", err)
	}
	return c.files, c.total, nil
}

// checkCommits returns an error unless the names are commits of the repository.
func (r *repo) checkCommits(ctx context.Context, commits ...string) error {
	ask := ""
	for _, c := range commits {
		if !isCommit(c) {
			return r.lostCommitError(c)
		}
		ask += c + "\n"
	}
	out, err := r.bare.Run(ctx, strings.NewReader(ask), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return failed(ctx, r.Path, "Looking for commits", err)
	}
	for i, kind := range strings.Split(out, "\n") {
		if kind != "commit" {
			return r.lostCommitError(commits[i])
		}
	}
	return nil
}

func (r *repo) lostCommitError(commit string) error {
	return task.Errorf(task.NotFound, task.CodeRepository, "The repository %s no longer has commit %.64s", r.Path, commit)
}

// isCommit reports whether s has the form of a full commit name.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Contains reports whether a branch contains a commit.
func (rs *Repositories) Contains(ctx context.Context, repository, branch, commit string) (bool, error) {
	r, err := rs.open(ctx, repository)
	if err != nil {
		return false, err
	}
	tip := r.Tip(ctx, branch)
	return tip != "" && isCommit(commit) && r.IsAncestor(ctx, tip, commit), context.Cause(ctx)
}

// Retire deletes the worktree of a task, and its branch if that still names the
// commit head ("" keeps the branch): what was pushed to it later stays. If
// neither exists, it does nothing. It returns a *task.Error if the branch is
// checked out.
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
		if _, err := os.Stat(c.Folder); c.Branch == w.Branch && err == nil {
			return task.Errorf(task.Conflict, task.CodeRepository, "The branch %s is checked out in %s: check out another one there",
				w.Branch, c.Folder)
		}
	}
	_, err = r.Git.Run(ctx, nil, "update-ref", "-d", "refs/heads/"+w.Branch, head)
	return failed(ctx, w.Repository, "Deleting the branch "+w.Branch, err)
}
