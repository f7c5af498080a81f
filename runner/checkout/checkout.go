// Package checkout checks out the branch of a task into a worktree on a
// person's machine. It is used by a command, not by the server. It runs no hook
// or filter of the repository.
package checkout

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
)

// Options says what to check out, and where.
type Options struct {
	Repository string // absolute path; with Remote, any folder of a clone
	Remote     string // URL or name of the remote to fetch from; "": none
	Branch     string // "" if Pattern finds it
	Pattern    string // matches this branch, or this name followed by - and more
	New        string // the branch to create if Pattern finds none
	From       string // branch from which to create it
	Dir        string // absolute path of the worktree, which is created if it does not exist
}

// Done describes what was checked out.
type Done struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	From   string `json:"from,omitempty"` // previous commit of the worktree; "" for a new one
}

// placed records, only in the worktree, which commit was checked out last.
const placed = "refs/worktree/taskyard"

// transports lists the allowed transports.
var transports = []string{"file", "git", "http", "https", "ssh"}

// Checkout creates the worktree, or updates it to the tip of the branch. HEAD
// points to the commit, not the branch, which is reserved for the runs of the
// task. Local changes and commits are never lost. Errors say what is in the
// way.
func Checkout(ctx context.Context, o Options) (Done, error) {
	r, err := open(ctx, o)
	if err != nil {
		return Done{}, err
	}
	own, err := os.MkdirTemp("", "taskyard-checkout-")
	if err != nil {
		return Done{}, err
	}
	defer func() { _ = os.RemoveAll(own) }()
	c := &checkout{r: r, o: o, own: r.Private(own)}
	done := Done{Path: o.Dir}
	if done.Branch, done.Commit, err = c.tip(ctx); err != nil {
		return Done{}, err
	}
	switch there, err := isOccupied(o.Dir); {
	case err != nil:
		return Done{}, err
	case !there:
		return done, c.add(ctx, done.Commit)
	}
	done.From, err = c.update(ctx, done)
	return done, err
}

func open(ctx context.Context, o Options) (*git.Repository, error) {
	path := o.Repository
	if o.Remote != "" {
		g, err := git.Find()
		if err != nil {
			return nil, err
		}
		if path, err = g.At(path).Run(ctx, nil, "rev-parse", "--show-toplevel"); err != nil {
			return nil, fmt.Errorf("%s is in no clone of the repository: run this in one (%s)", o.Repository, git.Reason(err))
		}
	}
	r, err := git.Open(ctx, path)
	if no, ok := errors.AsType[*git.UnusableError](err); ok {
		return nil, fmt.Errorf("the repository %s cannot be used here: %s; in a clone of it, fetch the branch with --remote URL", path, no.Reason)
	}
	return r, err
}

type checkout struct {
	r   *git.Repository
	o   Options
	own git.Private // not in the repository, where others could change its configuration
}

// tip returns the branch and its commit, which it fetches if there is a remote.
func (c *checkout) tip(ctx context.Context) (branch, commit string, err error) {
	where, list := c.r.Path, c.localBranches
	if c.o.Remote != "" {
		where, list = c.o.Remote, c.remoteBranches
	}
	found, err := list(ctx)
	if err != nil {
		return "", "", fmt.Errorf("the branches of %s could not be read: %s", where, git.Reason(err))
	}
	branch = c.o.Branch
	switch {
	case branch != "" && !slices.Contains(found, branch):
		return "", "", fmt.Errorf("%s has no branch %s: it is deleted some time after its merge", where, branch)
	case branch == "" && len(found) == 0:
		return "", "", fmt.Errorf("%s has no branch %s yet: the first run of the task creates it; without a run, create it on %s",
			where, c.o.New, c.o.From)
	case branch == "" && len(found) > 1:
		return "", "", fmt.Errorf("%s has %d branches of this task: %s", where, len(found), strings.Join(found, ", "))
	case branch == "":
		branch = found[0]
	}
	ref := "refs/heads/" + branch
	if c.o.Remote != "" {
		ref = "refs/remotes/taskyard/" + branch
		if _, err := c.fetching(ctx).Run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
			"--upload-pack=git-upload-pack", "--", c.o.Remote, "+refs/heads/"+branch+":"+ref); err != nil {
			return "", "", fmt.Errorf("the branch %s could not be fetched from %s: %s", branch, where, git.Reason(err))
		}
	}
	if commit = c.r.Commit(ctx, ref); commit == "" {
		return "", "", fmt.Errorf("%s has no branch %s any more", where, branch)
	}
	return branch, commit, nil
}

// refsToFetch returns the references to fetch.
func (c *checkout) refsToFetch() []string {
	if c.o.Branch != "" {
		return []string{"refs/heads/" + c.o.Branch}
	}
	return []string{"refs/heads/" + c.o.Pattern, "refs/heads/" + c.o.Pattern + "-*"}
}

func (c *checkout) localBranches(ctx context.Context) ([]string, error) {
	out, err := c.r.Git.Run(ctx, nil, append([]string{"for-each-ref", "--format=%(refname)"}, c.refsToFetch()...)...)
	return branches(out), err
}

func (c *checkout) remoteBranches(ctx context.Context) ([]string, error) {
	args := append([]string{"ls-remote", "--quiet", "--refs", "--upload-pack=git-upload-pack", "--", c.o.Remote}, c.refsToFetch()...)
	out, err := c.fetching(ctx).Run(ctx, nil, args...)
	return branches(out), err
}

// branches parses reference names, one at the end of each line.
func branches(out string) (list []string) {
	for line := range strings.Lines(out) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "refs/heads/")
		if ok {
			list = append(list, name)
		}
	}
	return list
}

// fetching returns a Git that may use the network, with the keys and helpers of
// the person, not those that the repository configures.
func (c *checkout) fetching(ctx context.Context) git.Git {
	g := c.r.Git.Set("core.sshCommand=ssh")
	for _, name := range transports {
		g = g.Set("protocol." + name + ".allow=always")
	}
	for _, name := range []string{"SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); value != "" {
			g = g.With(name + "=" + value)
		}
	}
	out, err := c.r.Git.At(filepath.Dir(filepath.VolumeName(c.r.Path)+string(filepath.Separator))).
		Run(ctx, nil, "config", "--get-all", "credential.helper")
	for line := range strings.Lines(out) {
		if helper := strings.TrimSpace(line); err == nil && helper != "" {
			g = g.Set("credential.helper=" + helper)
		}
	}
	return g
}

// isOccupied reports whether a folder is not empty.
func isOccupied(dir string) (bool, error) {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, os.MkdirAll(filepath.Dir(dir), 0o700)
	case err != nil:
		return false, err
	}
	return len(list) > 0, nil
}

// add creates a worktree without a branch and fills it.
func (c *checkout) add(ctx context.Context, commit string) error {
	// Force it, because the repository may still list a worktree that a person
	// removed.
	args := []string{"worktree", "add", "--force", "--quiet", "--no-checkout", "--detach", c.o.Dir, commit}
	if _, err := c.r.Git.Run(ctx, nil, args...); err != nil {
		return fmt.Errorf("no worktree could be made in %s: %s", c.o.Dir, git.Reason(err))
	}
	admin, err := c.admin()
	if err != nil {
		return err
	}
	err = c.runFilled(ctx, admin, "read-tree", "--reset", "-u", commit)
	if err == nil {
		err = c.note(ctx, admin, commit)
	}
	if err != nil {
		_, undo := c.r.Git.Run(ctx, nil, "worktree", "remove", "--force", c.o.Dir)
		return errors.Join(fmt.Errorf("%s could not be filled: %s", c.o.Dir, git.Reason(err)), undo)
	}
	return nil
}

// admin returns the folder in which the repository stores the worktree's
// metadata.
func (c *checkout) admin() (string, error) {
	refuse := fmt.Errorf("%s exists and is not a worktree of %s: name another folder", c.o.Dir, c.r.Path)
	b, err := os.ReadFile(filepath.Join(c.o.Dir, ".git"))
	if err != nil || len(b) > 8192 {
		return "", refuse
	}
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok || !filepath.IsAbs(admin) || !git.SameFolder(filepath.Dir(admin), filepath.Join(c.r.Common, "worktrees")) {
		return "", refuse
	}
	return admin, nil
}

// runFilled runs a command on the files with our own Git, and passes its index to
// the worktree.
func (c *checkout) runFilled(ctx context.Context, admin string, args ...string) error {
	if err := c.own.Make(ctx, ""); err != nil {
		return err
	}
	if _, err := c.own.In(c.o.Dir).Run(ctx, nil, args...); err != nil {
		return err
	}
	next := filepath.Join(admin, "index.taskyard")
	if err := copyFile(c.own.Index(), next); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(admin, "index"))
}

// copyFile copies a file to a path, where it replaces what is there, even a
// link.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// worktreeGit returns Git in the repository as the worktree sees it.
func (c *checkout) worktreeGit(admin string) git.Git { return c.r.Git.At(c.o.Dir, "--git-dir="+admin) }

// note moves HEAD to a commit and records it.
func (c *checkout) note(ctx context.Context, admin, commit string) error {
	g, err := c.r.Worktree(ctx, c.o.Dir, admin)
	if err != nil {
		return err
	}
	if _, err := g.Run(ctx, nil, "update-ref", "--no-deref", "-m", "taskyard task checkout", "HEAD", commit); err != nil {
		return err
	}
	_, err = g.Run(ctx, nil, "update-ref", placed, commit)
	return err
}

// update brings a worktree to the tip of the branch and returns its previous
// commit.
func (c *checkout) update(ctx context.Context, to Done) (from string, err error) {
	admin, err := c.admin()
	if err != nil {
		return "", err
	}
	g := c.worktreeGit(admin)
	if own, err := g.Run(ctx, nil, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		return "", fmt.Errorf("%s has the branch %s checked out: run git switch --detach there, or name another folder", c.o.Dir, own)
	}
	if from, err = g.Run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return "", fmt.Errorf("%s could not be read: %s", c.o.Dir, git.Reason(err))
	}
	last, _ := g.Run(ctx, nil, "rev-parse", "--verify", "--quiet", placed)
	if from != last && !c.r.IsAncestor(ctx, to.Commit, from) {
		return "", fmt.Errorf("%s has commits that %s does not have: push them (git push %s HEAD:%s), or name another folder",
			c.o.Dir, to.Branch, c.source(), to.Branch)
	}
	if from == to.Commit {
		return from, c.note(ctx, admin, to.Commit)
	}
	if err := c.own.Make(ctx, ""); err != nil {
		return "", err
	}
	if err := c.own.CopyIndex(admin); err != nil {
		return "", fmt.Errorf("%s could not be read: %w", c.o.Dir, err)
	}
	_, _ = c.own.In(c.o.Dir).Run(ctx, nil, "update-index", "-q", "--refresh") // some files may have changed
	if err := c.runFilled(ctx, admin, "read-tree", "-m", "-u", from, to.Commit); err != nil {
		return "", fmt.Errorf("local changes in %s are in the way of what is new on %s: commit, stash or drop them (%s)",
			c.o.Dir, to.Branch, git.Reason(err))
	}
	return from, c.note(ctx, admin, to.Commit)
}

// source returns where commits are pushed to.
func (c *checkout) source() string {
	return cmp.Or(c.o.Remote, ".")
}
