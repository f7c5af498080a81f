package repository

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taskyard/runner/check"
	"taskyard/runner/git"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// keptFor is how long a commit that was created for a merge is protected from
// Git's garbage collection if the target is never advanced to it.
const keptFor = 30 * 24 * time.Hour

// keptUnder is the prefix of the references that protect such commits.
const keptUnder = "refs/taskyard/merge/"

func keptRef(o task.MergeOrder) string { return keptUnder + o.ID.String() }

// refusedMergeError is the reason why a change cannot be merged.
type refusedMergeError struct{ code, reason string }

func (e *refusedMergeError) Error() string { return e.reason }

const (
	codeConflict = "merge_conflict"
	codeChecks   = "merge_checks_failed"
	codeChanged  = "merge_changed"
)

// Apply applies an accepted change to the head of its target, and runs the
// checks on the result in a separate folder. The target does not move. Merged
// says what prevents the merge; errors are a *task.Error or the cause of ctx.
func (rs *Repositories) Apply(ctx context.Context, o task.MergeOrder) (*task.Merged, error) {
	r, err := rs.open(ctx, o.Repository)
	if err != nil {
		return nil, err
	}
	if err := r.checkCommits(ctx, o.Base, o.Head); err != nil {
		return nil, err
	}
	unlock := rs.lock(r)
	r.unlockCheckouts()
	unlock()
	m := &task.Merged{Checks: []task.CheckRun{}}
	if m.Before, err = rs.target(ctx, r, o); err != nil {
		return nil, failed(ctx, o.Repository, "Reading "+o.Into, err)
	}
	commit, err := rs.apply(ctx, r, o, m)
	var no *refusedMergeError
	switch {
	case err == nil:
		m.After = commit
		return m, nil
	case errors.As(err, &no) && ctx.Err() == nil:
		m.Code, m.Reason = no.code, no.reason
		unlock = rs.lock(r)
		r.release(ctx, o)
		unlock()
		return m, nil
	}
	return nil, failed(ctx, o.Repository, "Merging into "+o.Into, err)
}

// target returns the commit that a change is applied to.
func (rs *Repositories) target(ctx context.Context, r *repo, o task.MergeOrder) (string, error) {
	if o.ParentTree.Origin != 0 {
		return rs.save(ctx, r, o.ParentTree, "") // the parent's own agent made it
	}
	if tip := r.Tip(ctx, o.Into); tip != "" {
		return tip, nil
	}
	return "", task.Errorf(task.Conflict, task.CodeRepository, "The repository %s has no branch %s", o.Repository, o.Into)
}

func (rs *Repositories) apply(ctx context.Context, r *repo, o task.MergeOrder, m *task.Merged) (string, error) {
	commit, err := r.mergeCommit(ctx, o, m.Before)
	if err != nil {
		return "", err
	}
	if err := rs.keep(ctx, r, o, commit); err != nil {
		return "", err
	}
	c, err := compare(ctx, r.bare, m.Before, commit, rs.o.Redact)
	if err != nil {
		return "", err
	}
	if c.sum != o.Patch {
		return "", &refusedMergeError{codeChanged, fmt.Sprintf(
			"On %s the change is another one than was accepted: bring the branch up to date with %s, and have it reviewed again", o.Into, o.Into)}
	}
	return commit, rs.proveMerge(ctx, r, o, commit, m)
}

// mergeCommit creates the commit that the target will point to.
func (r *repo) mergeCommit(ctx context.Context, o task.MergeOrder, target string) (string, error) {
	switch {
	case o.Method == task.MergeSquash:
		return r.squash(ctx, o, target)
	case r.IsAncestor(ctx, o.Head, target): // its commits already continue the target
		return o.Head, nil
	case o.Method == task.MergeRebase:
		return r.rebase(ctx, o, target)
	}
	return "", &refusedMergeError{codeConflict, fmt.Sprintf("%s moved since the branch left it, and this project takes fast-forwards only: "+
		"rebase the branch onto %s", o.Into, o.Into)}
}

// conflict returns the reason for a change with conflicts.
func conflict(o task.MergeOrder, err error) error {
	if c, ok := errors.AsType[*git.ConflictError](err); ok {
		return &refusedMergeError{codeConflict, fmt.Sprintf("It does not fit onto %s: %v", o.Into, c)}
	}
	return err
}

func (r *repo) squash(ctx context.Context, o task.MergeOrder, target string) (string, error) {
	files, err := r.bare.MergeTrees(ctx, o.Base, target, o.Head)
	if err != nil {
		return "", conflict(o, err)
	}
	message := strings.TrimRight(o.Message, "\n") + "\n"
	return r.bare.As(o.Author).CommitTree(ctx, files, message, target)
}

// rebase applies the commits of the branch one by one. Merge commits are
// skipped: their content is compared at the end.
func (r *repo) rebase(ctx context.Context, o task.MergeOrder, target string) (string, error) {
	out, err := r.Git.Run(ctx, nil, "rev-list", "--reverse", "--topo-order", "--no-merges", "--parents", o.Base+".."+o.Head)
	if err != nil {
		return "", err
	}
	tip := target
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue // a root commit
		}
		files, err := r.bare.MergeTrees(ctx, f[1], tip, f[0])
		if err != nil {
			return "", conflict(o, err)
		}
		if tree, err := r.bare.Run(ctx, nil, "rev-parse", tip+"^{tree}"); err != nil {
			return "", err
		} else if tree == files {
			continue // the target already has it
		}
		if tip, err = r.copyCommit(ctx, f[0], files, tip); err != nil {
			return "", err
		}
	}
	return tip, nil
}

// copyCommit creates a commit with the author and message of another.
func (r *repo) copyCommit(ctx context.Context, commit, files, parent string) (string, error) {
	text, err := r.bare.Run(ctx, nil, "cat-file", "commit", commit)
	if err != nil {
		return "", err
	}
	head, message, _ := strings.Cut(text, "\n\n")
	g := r.bare
	for line := range strings.SplitSeq(head, "\n") {
		if author, ok := strings.CutPrefix(line, "author "); ok {
			name, rest, _ := strings.Cut(author, " <")
			email, date, _ := strings.Cut(rest, "> ")
			g = g.As(name).With("GIT_AUTHOR_DATE=@"+date, "GIT_AUTHOR_EMAIL="+email)
		}
		if encoding, ok := strings.CutPrefix(line, "encoding "); ok {
			g = g.Set("i18n.commitEncoding=" + encoding)
		}
	}
	return g.CommitTree(ctx, files, message+"\n", parent)
}

// proveMerge runs the checks on the merged files. All required checks must
// pass.
func (rs *Repositories) proveMerge(ctx context.Context, r *repo, o task.MergeOrder, commit string, m *task.Merged) error {
	if len(o.Checks) == 0 {
		return nil
	}
	f, err := rs.newFolder(ctx, r, mergePrefix+o.ID.String(), commit)
	if err != nil {
		return err
	}
	defer f.remove(ctx)
	// Reuse the build cache of earlier merges: a small Go module then takes 1 s
	// instead of 40 s.
	f.home = filepath.Join(rs.o.Runs, homePrefix+storeName(r.Common))
	for _, command := range o.Setup {
		out := rs.o.Check.Run(ctx, check.Command{
			Run: command, Folder: f.work(), Home: f.home, Network: true, Timeout: task.MaxCheckTime, Task: o.TaskID,
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if out.Verdict != task.CheckPassed {
			return &refusedMergeError{codeChecks, "The setup failed on the merged files: " + command + ": " + out.Reason + ending(out.Log)}
		}
	}
	for _, c := range o.Checks {
		run := task.CheckRun{
			TaskID: o.TaskID, Name: c.Name, Command: c.Run, Required: true, Commit: commit, Verdict: task.CheckNotRun, Merge: true,
		}
		f.check(ctx, rs.o.Check, o.TaskID, c, &run)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f.unchanged(ctx, &run); err != nil {
			return err
		}
		m.Checks = append(m.Checks, run)
		if run.Verdict != task.CheckPassed {
			return &refusedMergeError{codeChecks, "The check " + c.Name + " did not pass on the merged files: " + run.Reason + ending(run.Log)}
		}
	}
	return nil
}

// endOfLog is how much of a log's end is included in a reason, in bytes.
const endOfLog = 2000

func ending(log string) string {
	log = strings.TrimSpace(log)
	if len(log) > endOfLog {
		log = "…" + strings.ToValidUTF8(log[len(log)-endOfLog:], "")
	}
	if log == "" {
		return ""
	}
	return "\n" + log
}

// keep protects a commit until the target is moved to it.
func (rs *Repositories) keep(ctx context.Context, r *repo, o task.MergeOrder, commit string) error {
	defer rs.lock(r)()
	r.releaseUnfinished(ctx)
	return r.withGuard(ctx, keptRef(o), func() error {
		_, err := r.Git.Run(ctx, nil, "update-ref", keptRef(o), commit)
		return err
	})
}

// release lets Git collect a commit that was created for a merge.
func (r *repo) release(ctx context.Context, o task.MergeOrder) {
	ctx = context.WithoutCancel(ctx)
	_ = r.withGuard(ctx, keptRef(o), func() error {
		_, err := r.Git.Run(ctx, nil, "update-ref", "-d", keptRef(o))
		return err
	})
}

// releaseUnfinished releases the commits of merges that were never finished.
func (r *repo) releaseUnfinished(ctx context.Context) {
	out, err := r.Git.Run(ctx, nil, "for-each-ref", "--format=%(committerdate:unix) %(refname)", keptUnder)
	for line := range strings.Lines(out) {
		at, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seconds, e := strconv.ParseInt(at, 10, 64); err == nil && e == nil && time.Since(time.Unix(seconds, 0)) > keptFor {
			_, _ = r.Git.Run(ctx, nil, "update-ref", "-d", ref)
		}
	}
}

// waitsErrorf returns the error of a merge that is held up by the state of the
// repository.
func waitsErrorf(format string, args ...any) error {
	return task.Errorf(task.Conflict, task.CodeMergeWaits, "%s", textdiff.Printable(fmt.Sprintf(format, args...)))
}
