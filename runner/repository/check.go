package repository

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskyard/runner/check"
	"taskyard/runner/git"
	"taskyard/runner/remove"
	"taskyard/runner/textdiff"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// Check executes a check on a revision of a task: a command in its worktree,
// or, where there is none, in a folder of its own. Kind url is the caller's. What
// cannot be run is a verdict.
func (rs *Repositories) Check(ctx context.Context, w task.Worktree, at *task.Revision, c task.Check) task.CheckRun {
	run := task.CheckRun{TaskID: w.TaskID, Name: c.Name, Command: c.Run, Required: c.Required, Commit: at.Head, Verdict: task.CheckNotRun}
	r, err := rs.open(ctx, w.Repository)
	if err == nil {
		err = r.known(ctx, at.Base, at.Head)
	}
	if err == nil {
		switch c.Kind {
		case task.CheckCommand, "":
			err = rs.checkCommand(ctx, r, w, at, c, &run)
		case task.CheckFile:
			run.Command = c.Path
			err = r.checkFile(ctx, at, c, &run)
		case task.CheckChanged:
			run.Command = c.Glob
			err = r.checkChanged(ctx, at, c, &run)
		default:
			err = errors.New("a check of kind " + string(c.Kind) + " needs no repository")
		}
	}
	if err != nil {
		run.Verdict, run.Reason = task.CheckNotRun, textdiff.Printable(git.Reason(err))
	}
	return run
}

// judge sets the verdict of a check that only looks.
func judge(run *task.CheckRun, passed bool, otherwise string) {
	run.Verdict = task.CheckPassed
	if !passed {
		run.Verdict, run.Reason = task.CheckFailed, otherwise
	}
}

// checkFile looks for a file in the revision.
func (r *repo) checkFile(ctx context.Context, at *task.Revision, c task.Check, run *task.CheckRun) error {
	said, err := r.bare.Run(ctx, nil, "ls-tree", "-z", at.Head, "--", filepath.Clean(c.Path))
	judge(run, strings.HasPrefix(said, "100") || strings.HasPrefix(said, "120"), "there is no such file")
	return err
}

// checkChanged looks for a changed file whose path matches.
func (r *repo) checkChanged(ctx context.Context, at *task.Revision, c task.Check, run *task.CheckRun) error {
	matches, err := check.Glob(c.Glob)
	if err != nil {
		return err
	}
	found := false
	err = r.bare.Changes(ctx, at.Base, at.Head, func(c git.Change) error {
		found = found || matches(c.Path)
		return nil
	})
	judge(run, found, "no changed file matches")
	return err
}

// checkCommand runs a command.
func (rs *Repositories) checkCommand(
	ctx context.Context, r *repo, w task.Worktree, at *task.Revision, c task.Check, run *task.CheckRun,
) error {
	tree, err := workspace.OpenTask(rs.o.Runs, r.Repository, w)
	if err != nil {
		return err
	}
	if tree == nil {
		f, err := rs.newFolder(ctx, r, checkPrefix+w.TaskID.String()+"-"+rand.Text(), at.Head)
		if err != nil {
			return err
		}
		defer f.remove(ctx)
		f.check(ctx, rs.o.Check, w.TaskID, c, run)
		return f.unchanged(ctx, run)
	}
	if name, err := tree.Changed(ctx, at.Head); err != nil || name != "" {
		run.Reason = "the worktree is not at " + at.Head[:12] + ": " + textdiff.Printable(name) + " differs"
		return err
	}
	record(run, rs.o.Check.Run(ctx, check.Command{
		Run: c.Run, Folder: tree.Folder(), Home: tree.Home(), Network: c.Network, Timeout: c.Timeout(), Task: w.TaskID,
	}))
	name, err := tree.Changed(ctx, at.Head)
	spoil(run, name)
	return err
}

// record notes the outcome of a command.
func record(run *task.CheckRun, out check.Outcome) {
	run.Verdict, run.ExitCode, run.Reason, run.Millis = out.Verdict, out.ExitCode, out.Reason, out.Millis
	run.Log, run.LogSHA256, run.Level = out.Log, check.Sum(out.Log), out.Level
}

// spoil takes its verdict from a check that passed while a file changed: it says
// nothing of the revision.
func spoil(run *task.CheckRun, name string) {
	if name != "" && run.Verdict == task.CheckPassed {
		run.Verdict, run.Reason = task.CheckFailed, "files changed while it ran: "+task.ClipText(textdiff.Printable(name), 300)
	}
}

// folder is a folder with the files of a commit, below that of the runs, which
// nothing but checks uses. It is no worktree that its repository knows.
type folder struct {
	dir    string // holds work, git and home
	name   string
	commit string
	git    git.Private
	home   string // of commands
	runs   *os.Root
}

// newFolder makes one, in place of any that is left of its name.
func (rs *Repositories) newFolder(ctx context.Context, r *repo, name, commit string) (*folder, error) {
	if err := os.MkdirAll(rs.o.Runs, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(rs.o.Runs)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(rs.o.Runs, name)
	f := &folder{
		dir: dir, name: name, commit: commit, git: r.Private(filepath.Join(dir, "git")), home: filepath.Join(dir, "home"), runs: root,
	}
	if err := f.fill(ctx); err != nil {
		f.remove(ctx)
		return nil, err
	}
	return f, nil
}

func (f *folder) work() string { return filepath.Join(f.dir, "work") }

func (f *folder) fill(ctx context.Context) error {
	if err := remove.All(ctx, f.runs, f.name); err != nil {
		return err
	}
	if err := os.MkdirAll(f.work(), 0o700); err != nil {
		return err
	}
	if err := f.git.Make(ctx, ""); err != nil {
		return err
	}
	_, err := f.git.In(f.work()).Run(ctx, nil, "read-tree", "--reset", "-u", f.commit)
	return err
}

// remove removes the folder; what resists is tried again by Sweep.
func (f *folder) remove(ctx context.Context) {
	_ = remove.All(context.WithoutCancel(ctx), f.runs, f.name)
	_ = f.runs.Close()
}

func (f *folder) check(ctx context.Context, runner check.Runner, id task.ID, c task.Check, run *task.CheckRun) {
	record(run, runner.Run(ctx, check.Command{
		Run: c.Run, Folder: f.work(), Home: f.home, Network: c.Network, Timeout: c.Timeout(), Task: id,
	}))
}

// unchanged checks that the files are still those of the commit. Nothing runs in
// the folder any more.
func (f *folder) unchanged(ctx context.Context, run *task.CheckRun) error {
	g := f.git.In(f.work())
	_, _ = g.Run(ctx, nil, "update-index", "-q", "--refresh") // some may have been touched
	name := ""
	err := g.EachName(ctx, func(s string) { name = s }, diffFiles...)
	spoil(run, name)
	return err
}

// Names of folders below that of the runs begin with these.
const (
	checkPrefix = "check-" // the files of a revision that has no worktree
	mergePrefix = "merge-" // the files of a merge
	homePrefix  = "cache-" // HOME of the commands of all merges into a repository
)

// homeFor is how long a HOME of merges stays unused.
const homeFor = 30 * 24 * time.Hour

// Sweep removes what a killed server left below the folder of the runs, and what
// was not used for long. Call it at the start, before anything else.
func (rs *Repositories) Sweep(ctx context.Context) error {
	root, err := os.OpenRoot(rs.o.Runs)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	list, err := os.ReadDir(rs.o.Runs)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range list {
		info, err := e.Info()
		left := strings.HasPrefix(e.Name(), checkPrefix) || strings.HasPrefix(e.Name(), mergePrefix)
		old := strings.HasPrefix(e.Name(), homePrefix) && err == nil && time.Since(info.ModTime()) > homeFor
		if e.IsDir() && (left || old) {
			names = append(names, e.Name())
		}
	}
	return remove.All(ctx, root, names...)
}
