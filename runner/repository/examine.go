package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"taskyard/runner/git"
	"taskyard/runner/instance"
	"taskyard/runner/scratch"
	"taskyard/task"
)

// findings collects findings.
type findings []task.Finding

func (f *findings) ok(format string, args ...any) {
	*f = append(*f, task.Finding{Level: task.LevelOK, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(fix, format string, args ...any) {
	*f = append(*f, task.Finding{Level: task.LevelWarning, Message: fmt.Sprintf(format, args...), Fix: fix})
}

func (f *findings) fail(fix, format string, args ...any) {
	*f = append(*f, task.Finding{Level: task.LevelError, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// Examine checks the repository of a project: whether it and its branches
// exist, and whether the server can write to it.
func (rs *Repositories) Examine(ctx context.Context, p *task.Project) []task.Finding {
	var f findings
	if p.Repository == "" {
		return []task.Finding{}
	}
	for _, data := range instance.Folders() {
		if err := instance.CheckOutside(p.Repository, data); err != nil {
			f.fail("Move it out of the data folder.", "%v", err)
			return f
		}
	}
	r, err := rs.open(ctx, p.Repository)
	if errors.Is(err, scratch.ErrTemporary) {
		f.fail("Start the server with TMPDIR set to a folder that its account may write.", "%v", err)
		return f
	}
	if err != nil {
		f.fail("Name the absolute path of a Git repository that the account of the server may read and write.", "%v", err)
		return f
	}
	if out, err := r.Git.Run(ctx, nil, "merge-tree", "-h"); err != nil && !strings.Contains(out+err.Error(), "--write-tree") {
		f.fail("Install Git 2.38 or newer.", "The Git of the server cannot merge without a work tree.")
	}
	kind := "with a work tree"
	if r.Bare {
		kind = "bare"
	}
	f.ok("%s is a Git repository (%s).", p.Repository, kind)
	r.examineBranches(ctx, p, &f)
	r.examineWriting(ctx, p, &f)
	r.examineContents(ctx, p, &f)
	r.examineCheckouts(ctx, p, &f)
	return f
}

func (r *repo) examineBranches(ctx context.Context, p *task.Project, f *findings) {
	names := []string{p.DefaultBranch}
	if p.Merge != nil && !slices.Contains(names, p.Merge.Into) {
		names = append(names, p.Merge.Into)
	}
	for _, name := range names {
		if tip := r.Tip(ctx, name); tip == "" {
			f.fail("Create it, with at least one commit, or name another one.", "It has no branch %s.", name)
		} else {
			f.ok("Branch %s is at %s.", name, tip[:12])
		}
	}
	// The branch refs/heads/taskyard prevents refs/heads/taskyard/42-fix.
	for dir := filepath.Dir(p.BranchPrefix + "x"); dir != "."; dir = filepath.Dir(dir) {
		if r.Tip(ctx, dir) != "" {
			f.fail("Rename that branch, or choose another prefix.", "A branch %s leaves no place for branches %s….", dir, p.BranchPrefix)
		}
	}
}

// examineWriting writes, as a test, where merges and worktrees write.
func (r *repo) examineWriting(ctx context.Context, p *task.Project, f *findings) {
	for _, name := range []string{"objects", "refs/heads", ""} {
		dir := filepath.Join(r.Common, name)
		probe, err := os.CreateTemp(dir, ".taskyard-")
		if err != nil {
			f.fail("Let the account of the server write there.", "The server cannot write in %s (%v).", dir, err)
			return
		}
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	}
	f.ok("The server can write it.")
	locks := []string{"packed-refs.lock", "config.lock", filepath.Join("refs/heads", p.DefaultBranch+".lock")}
	if !r.Bare {
		locks = append(locks, "index.lock")
	}
	for _, name := range locks {
		if info, err := os.Lstat(filepath.Join(r.Common, name)); err == nil {
			f.warn("If no Git works in it, delete that file.", "It is locked by %s for %s.",
				filepath.Join(r.Common, name), time.Since(info.ModTime()).Round(time.Second))
		}
	}
	if !ownedBy(filepath.Join(r.Common, "objects"), os.Geteuid()) && !r.setting(ctx, "core.sharedRepository") {
		f.warn("Run: git -C "+r.Path+" config core.sharedRepository all, and restart the server.",
			"It belongs to another account, which cannot read what the server writes there.")
	}
	partial, err := r.Git.Run(ctx, nil, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`)
	if err == nil && partial != "" || r.setting(ctx, "core.sparseCheckout") {
		f.warn("Use a whole clone: nothing is fetched while tasks work.", "It is a partial clone, or a sparse one.")
	}
	if _, err := os.Lstat(filepath.Join(r.Common, "shallow")); err == nil {
		f.warn("Run: git fetch --unshallow", "It is a shallow clone: branches that left before its first commit cannot be compared.")
	}
}

// ownedBy reports whether a file belongs to an account.
func ownedBy(file string, uid int) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// setting reports whether the repository has a setting other than false.
func (r *repo) setting(ctx context.Context, name string) bool {
	value, err := r.Git.Run(ctx, nil, "config", "--get", name)
	return err == nil && value != "" && value != "false"
}

// examineContents warns about features for which Git runs programs, or reads
// data from elsewhere.
func (r *repo) examineContents(ctx context.Context, p *task.Project, f *findings) {
	tip := r.Tip(ctx, p.DefaultBranch)
	if tip == "" {
		return
	}
	if out, err := r.bare.Run(ctx, nil, "ls-tree", tip, "--", ".gitmodules"); err == nil && out != "" {
		f.warn("Its setup can fetch them, where tasks need them.", "It has submodules, which are empty in the worktrees of tasks.")
	}
	g := r.bare.With("GIT_LITERAL_PATHSPECS=0")
	if _, err := g.Run(ctx, nil, "grep", "-q", "-E", "-e", "filter=", tip, "--", ":(glob)**/.gitattributes"); err == nil {
		f.warn("Its setup can run the filter, such as: git lfs pull.",
			"Files pass through a filter, such as Git LFS. Taskyard runs none: in worktrees of tasks they are as Git stores them.")
	}
}

// examineCheckouts warns about local changes that would hold up a merge.
func (r *repo) examineCheckouts(ctx context.Context, p *task.Project, f *findings) {
	if p.Merge == nil {
		return
	}
	list, err := r.Checkouts(ctx)
	if err != nil {
		f.warn("", "Its worktrees cannot be listed (%s).", git.Reason(err))
		return
	}
	for _, c := range list {
		if c.Branch != p.Merge.Into || r.Bare && git.SameFolder(c.Folder, r.Path) {
			continue
		}
		switch err := r.local(ctx, c.Folder); {
		case err != nil:
			f.warn("Merges into it wait until then.", "Branch %s is checked out in %s: %v.", c.Branch, c.Folder, err)
		default:
			f.ok("Branch %s is checked out in %s without local changes: a merge updates its files.", c.Branch, c.Folder)
		}
	}
}
