package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"taskyard/runner/git"
)

// All runs of a task with its own branch share one worktree. Its HEAD points to
// the branch while a run works there; between runs it points to a commit, so
// that people may check out the branch elsewhere, and push to it.

// errApart says that the commits of a folder do not continue the branch.
var errApart = errors.New("its commits do not continue its branch: somebody rewrote one of them meanwhile")

// SetupError says why a worktree could not be prepared; a retry may fix it.
type SetupError struct{ Reason string }

func (e *SetupError) Error() string { return e.Reason }

// prepare runs the setup commands of a new worktree of a task. The lock is
// released in the meantime.
func (t *tree) prepare(ctx context.Context, o Options) error {
	if !t.state.Task || t.state.Ready {
		return nil
	}
	if o.Prepare != nil {
		if err := o.Prepare(ctx, t.work(), filepath.Join(t.dir, homeName)); err != nil {
			return err
		}
	}
	defer t.lock()()
	t.state.Ready = true
	return t.save()
}

// homeName is the HOME of commands in a task's worktree, below its folder.
const homeName = "home"

// beginTask creates the branch of a task, if it does not exist, and its
// worktree.
func (t *tree) beginTask(ctx context.Context, o Options) error {
	tip := t.repo.Tip(ctx, o.Branch)
	start := tip
	if tip == "" {
		var err error
		if start, err = t.fromBranch(ctx, o); err != nil {
			return err
		}
	}
	t.state = treeState{
		Repository: t.repo.Path, Branch: o.Branch, Root: start, Base: start, Run: o.Run, Open: true, Task: true, Agent: o.Agent,
	}
	if err := t.clear(ctx); err != nil {
		return err
	}
	if err := t.save(); err != nil {
		return err
	}
	if tip != "" {
		if err := t.free(ctx); err != nil {
			return err
		}
		return t.add(ctx, t.work(), o.Branch)
	}
	return t.add(ctx, "--no-track", "-b", o.Branch, t.work(), start)
}

// fromBranch returns the commit on which the branch of a task begins: the tip
// of another branch, including the contents of that task's worktree.
func (t *tree) fromBranch(ctx context.Context, o Options) (string, error) {
	p, unlock := t.sibling(o)
	defer unlock()
	if p != nil && p.state.Task && p.state.Branch == o.From && p.isLinked() {
		p.author = "" // that task's agent made the changes
		if _, err := p.saveLive(ctx, titled("", p.state.Branch)); err != nil {
			return "", err
		}
	}
	if tip := t.repo.Tip(ctx, o.From); tip != "" {
		return tip, nil
	}
	return "", &UnusableError{fmt.Sprintf("The repository %s has no branch %s, on which %s begins", t.repo.Path, o.From, o.Branch)}
}

// free returns an error if the branch is checked out elsewhere. It takes the
// branch from other servers, on which no run of the task works any more.
func (t *tree) free(ctx context.Context) error {
	list, err := t.repo.Checkouts(ctx)
	for _, c := range list {
		if c.Branch != t.state.Branch {
			continue
		}
		took, err := t.detachOthers(ctx, c.Folder)
		if err != nil {
			return err
		}
		if _, gone := os.Stat(c.Folder); gone == nil && !took && !git.SameFolder(c.Folder, t.work()) {
			return &UnusableError{fmt.Sprintf("The branch %s is checked out in %s: check out another one there", c.Branch, c.Folder)}
		}
	}
	return err
}

// takenName marks the metadata of a worktree whose branch another server has
// continued.
const takenName = "taskyard-taken"

// detachOthers detaches other servers' worktrees at a path from the branch, and reports
// whether there were any. Whatever their runs left, or an agent that is still
// running commits there, does not change the branch.
func (t *tree) detachOthers(ctx context.Context, folder string) (took bool, err error) {
	for _, admin := range t.adminFolders() {
		owner, err := ReadIn(admin, ownerName)
		if err != nil || string(owner) == t.owner() || worktreePath(admin) != folder {
			continue // of this server or a person, or elsewhere
		}
		if err := WriteIn(admin, takenName, nil, 0o600); err != nil {
			return took, err
		}
		if err := t.writeHead(ctx, admin, "update-ref", "--no-deref", "-m", "taskyard", "HEAD", t.repo.Tip(ctx, t.state.Branch)); err != nil {
			return took, err
		}
		took = true
	}
	return took, nil
}

// isTaken reports whether another server has continued the branch.
func (t *tree) isTaken() bool {
	_, err := os.Lstat(filepath.Join(t.state.Admin, takenName))
	return err == nil
}

// attach updates the folder to the tip of the branch, and points its HEAD to
// the branch.
func (t *tree) attach(ctx context.Context) error {
	if err := t.free(ctx); err != nil {
		return err
	}
	if err := t.applyPushed(ctx); err != nil {
		return err
	}
	if err := t.writeHead(ctx, t.state.Admin, "symbolic-ref", "HEAD", "refs/heads/"+t.state.Branch); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(t.state.Admin, takenName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return t.copyIndex()
}

// detach points the HEAD of the folder to the commit of the branch.
func (t *tree) detach(ctx context.Context) error {
	if err := t.point(ctx, t.repo.Tip(ctx, t.state.Branch)); err != nil {
		return err
	}
	return t.copyIndex()
}

func (t *tree) point(ctx context.Context, commit string) error {
	return t.writeHead(ctx, t.state.Admin, "update-ref", "--no-deref", "-m", "taskyard", "HEAD", commit)
}

// applyPushed applies what was pushed to the branch while no run worked in the
// folder. Local changes stay; if they are in the way, it returns an error.
func (t *tree) applyPushed(ctx context.Context) error {
	if err := t.rewrite(ctx); err != nil {
		return err
	}
	head, err := t.worktreeGit().Run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	tip := t.repo.Tip(ctx, t.state.Branch)
	if err != nil || tip == "" || head == tip {
		return nil // see commit
	}
	g := t.git()
	_ = os.Remove(t.privateGit().Index() + ".lock")
	_, _ = g.Run(ctx, nil, "update-index", "-q", "--refresh") // some may have changed
	if _, err := g.Run(ctx, nil, "read-tree", "-m", "-u", head, tip); err != nil {
		return fmt.Errorf("local changes in %s are in the way of what was pushed to %s: %s", t.work(), t.state.Branch, git.Reason(err))
	}
	if err := t.point(ctx, tip); err != nil {
		return err
	}
	return t.copyIndex()
}

// saveLive commits the contents of the folder to the branch of the task, while
// a run may work there, and returns the commit.
func (t *tree) saveLive(ctx context.Context, message string) (commit string, err error) {
	if !t.state.Open {
		t.unblock(ctx)
		err = t.applyPushed(ctx)
	} else {
		err = t.rewrite(ctx)
	}
	if err != nil {
		return "", err
	}
	for range 3 { // the agent may commit at the same time
		if commit, err = t.snapshot(ctx, message); err != nil {
			return "", err
		}
		if err = t.name(ctx, commit); !errors.Is(err, errApart) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if !t.state.Open {
		err = t.point(ctx, commit)
	} else if !t.isTaken() {
		t.rejoin(ctx)
	}
	return commit, errors.Join(err, t.copyIndex())
}

// rejoin points the HEAD of a folder to the branch that was just saved, if the
// agent has left it: what the agent does next must continue that commit. If it
// fails, the next save reports errApart.
func (t *tree) rejoin(ctx context.Context) {
	ref := "refs/heads/" + t.state.Branch
	if at, _ := t.worktreeGit().Run(ctx, nil, "symbolic-ref", "--quiet", "HEAD"); at != ref {
		_ = t.writeHead(ctx, t.state.Admin, "symbolic-ref", "HEAD", ref)
	}
}

// titled returns the message of a Taskyard commit on the branch of a task.
func titled(title, branch string) string {
	if title = strings.TrimSpace(title); title == "" {
		title = "Work on " + branch
	}
	return title + "\n"
}

// signed returns Git with the author of a task's changes.
func (t *tree) signed(g git.Git) git.Git {
	if !t.state.Task {
		return g
	}
	if t.author == "" {
		return g.As(t.state.Agent)
	}
	return g.As(t.author)
}
