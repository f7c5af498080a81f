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

// The worktree of a task with a branch of its own is that of all its runs. Its
// HEAD names the branch while a run works there; between runs it names a commit,
// so that people may check the branch out elsewhere, and push to it.

// errApart says that the commits of a folder do not continue the branch.
var errApart = errors.New("its commits do not continue its branch: somebody rewrote one of them meanwhile")

// SetupError says why a worktree could not be prepared; a retry may fix it.
type SetupError struct{ Reason string }

func (e *SetupError) Error() string { return e.Reason }

// prepare runs what has to run once in a new worktree of a task. Nobody waits
// for its lock meanwhile.
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

// homeName is the HOME of commands in the worktree of a task, below its folder.
const homeName = "home"

// beginTask makes the branch of a task where there is none, and its worktree.
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

// fromBranch is the commit on which the branch of a task begins: the tip of
// another one, with what lies in the worktree of that task.
func (t *tree) fromBranch(ctx context.Context, o Options) (string, error) {
	p, unlock := t.sibling(o)
	defer unlock()
	if p != nil && p.state.Task && p.state.Branch == o.From && p.whole() {
		p.author = "" // its own agent made it
		if _, err := p.saveLive(ctx, titled("", p.state.Branch)); err != nil {
			return "", err
		}
	}
	if tip := t.repo.Tip(ctx, o.From); tip != "" {
		return tip, nil
	}
	return "", &UnusableError{fmt.Sprintf("The repository %s has no branch %s, on which %s begins", t.repo.Path, o.From, o.Branch)}
}

// free says where else the branch is checked out. From another server it takes the
// branch: no run of the task works there any more.
func (t *tree) free(ctx context.Context) error {
	list, err := t.repo.Checkouts(ctx)
	for _, c := range list {
		if c.Branch != t.state.Branch {
			continue
		}
		took, err := t.take(ctx, c.Folder)
		if err != nil {
			return err
		}
		if _, gone := os.Stat(c.Folder); gone == nil && !took && !git.SameFolder(c.Folder, t.work()) {
			return &UnusableError{fmt.Sprintf("The branch %s is checked out in %s: check out another one there", c.Branch, c.Folder)}
		}
	}
	return err
}

// takenName marks what the repository knows of a worktree whose branch another
// server has continued.
const takenName = "taskyard-taken"

// take has the worktrees of other servers at a path name the commit of the branch in
// the place of the branch, and reports whether there were any: what their runs left,
// or an agent that is still alive commits there, does not change the branch.
func (t *tree) take(ctx context.Context, folder string) (took bool, err error) {
	for _, admin := range t.admins() {
		owner, err := readIn(admin, ownerName)
		if err != nil || string(owner) == t.owner() || worktreePath(admin) != folder {
			continue // of this server, of a person, or elsewhere
		}
		if err := WriteIn(admin, takenName, nil, 0o600); err != nil {
			return took, err
		}
		if _, err := t.repo.Git.At(t.dir, "--git-dir="+admin).Run(ctx, nil, "update-ref", "--no-deref", "-m", "taskyard",
			"HEAD", t.repo.Tip(ctx, t.state.Branch)); err != nil {
			return took, err
		}
		took = true
	}
	return took, nil
}

// taken reports whether another server has continued the branch.
func (t *tree) taken() bool {
	_, err := os.Lstat(filepath.Join(t.state.Admin, takenName))
	return err == nil
}

// attach brings the folder to the tip of the branch, and has it name the branch.
func (t *tree) attach(ctx context.Context) error {
	if err := t.free(ctx); err != nil {
		return err
	}
	if err := t.catchUp(ctx); err != nil {
		return err
	}
	if _, err := t.admin().Run(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+t.state.Branch); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(t.state.Admin, takenName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return t.copyIndex()
}

// detach has the folder name the commit of the branch.
func (t *tree) detach(ctx context.Context) error {
	if err := t.point(ctx, t.repo.Tip(ctx, t.state.Branch)); err != nil {
		return err
	}
	return t.copyIndex()
}

func (t *tree) point(ctx context.Context, commit string) error {
	_, err := t.admin().Run(ctx, nil, "update-ref", "--no-deref", "-m", "taskyard", "HEAD", commit)
	return err
}

// catchUp takes up what was pushed to the branch while no run worked in the
// folder. Local changes stay; where they are in the way, that is the error.
func (t *tree) catchUp(ctx context.Context) error {
	if err := t.rewrite(ctx); err != nil {
		return err
	}
	head, err := t.admin().Run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	tip := t.repo.Tip(ctx, t.state.Branch)
	if err != nil || tip == "" || head == tip {
		return nil // see commit
	}
	g := t.git()
	_ = os.Remove(t.own().Index() + ".lock")
	_, _ = g.Run(ctx, nil, "update-index", "-q", "--refresh") // some may have changed
	if _, err := g.Run(ctx, nil, "read-tree", "-m", "-u", head, tip); err != nil {
		return fmt.Errorf("local changes in %s are in the way of what was pushed to %s: %s", t.work(), t.state.Branch, git.Reason(err))
	}
	if err := t.point(ctx, tip); err != nil {
		return err
	}
	return t.copyIndex()
}

// saveLive puts what lies in the folder on the branch of the task, while a run
// may work there, and returns the commit.
func (t *tree) saveLive(ctx context.Context, message string) (commit string, err error) {
	if !t.state.Open {
		t.unblock(ctx)
		err = t.catchUp(ctx)
	} else {
		err = t.rewrite(ctx)
	}
	if err != nil {
		return "", err
	}
	for range 3 { // its agent may commit at the same time
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
	}
	return commit, errors.Join(err, t.copyIndex())
}

// titled is the message of a commit of Taskyard on the branch of a task.
func titled(title, branch string) string {
	if title = strings.TrimSpace(title); title == "" {
		title = "Work on " + branch
	}
	return title + "\n"
}

// signed is Git with the author of what lies in the folder of a task.
func (t *tree) signed(g git.Git) git.Git {
	if !t.state.Task {
		return g
	}
	if t.author == "" {
		return g.As(t.state.Agent)
	}
	return g.As(t.author)
}
