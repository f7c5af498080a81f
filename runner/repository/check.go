package repository

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// Check executes a check on a revision of a task: a command in its worktree or,
// if there is none, in a separate folder. The caller handles the kind url. A
// check that cannot run is a verdict.
func (rs *Repositories) Check(ctx context.Context, w task.Worktree, at *task.Revision, c task.Check) task.CheckRun {
	run := task.CheckRun{TaskID: w.TaskID, Name: c.Name, Command: c.Run, Required: c.Required, Commit: at.Head, Verdict: task.CheckNotRun}
	r, err := rs.open(ctx, w.Repository)
	if err == nil {
		err = r.checkCommits(ctx, at.Base, at.Head)
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

// setVerdict sets the verdict of a check that runs no command.
func setVerdict(run *task.CheckRun, passed bool, otherwise string) {
	run.Verdict = task.CheckPassed
	if !passed {
		run.Verdict, run.Reason = task.CheckFailed, otherwise
	}
}

// checkFile checks whether a file exists in the revision.
func (r *repo) checkFile(ctx context.Context, at *task.Revision, c task.Check, run *task.CheckRun) error {
	out, err := r.bare.Run(ctx, nil, "ls-tree", "-z", at.Head, "--", filepath.Clean(c.Path))
	setVerdict(run, strings.HasPrefix(out, "100") || strings.HasPrefix(out, "120"), "there is no such file")
	return err
}

// checkChanged checks whether a changed file's path matches.
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
	setVerdict(run, found, "no changed file matches")
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
	before, err := tree.Untracked(ctx)
	if err != nil {
		return err
	}
	record(run, rs.o.Check.Run(ctx, check.Command{
		Run: c.Run, Folder: tree.Folder(), Home: tree.Home(), Network: c.Network, Timeout: c.Timeout(), Task: w.TaskID,
	}))
	if ctx.Err() != nil { // another run may be working there now
		return context.Cause(ctx)
	}
	name, err := tree.Changed(ctx, at.Head)
	revokeVerdict(run, name)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rs.noteRemoved(run, tree.RemoveUntracked(ctx, before)) // otherwise they would be part of the next result
	return err
}

// noteRemoved adds to the log of a check which files were removed after it: somebody
// else may have written one while it ran.
func (rs *Repositories) noteRemoved(run *task.CheckRun, names []string) {
	if len(names) == 0 {
		return
	}
	list := task.ClipText(textdiff.Printable(rs.o.Redact(strings.Join(names[:min(len(names), 20)], ", "))), 500)
	note := fmt.Sprintf("Taskyard removed new files after this check (%d): %s\n", len(names), list)
	log := run.Log[max(0, len(run.Log)+len(note)+1-task.MaxCheckLog):]
	if log != "" && !strings.HasSuffix(log, "\n") {
		log += "\n"
	}
	run.Log = strings.ToValidUTF8(log, "") + note
	run.LogSHA256 = check.Sum(run.Log)
}

// record stores the outcome of a command.
func record(run *task.CheckRun, out check.Outcome) {
	run.Verdict, run.ExitCode, run.Reason, run.Millis = out.Verdict, out.ExitCode, out.Reason, out.Millis
	run.Log, run.LogSHA256, run.Level = out.Log, check.Sum(out.Log), out.Level
}

// revokeVerdict revokes the verdict of a check that passed although a file changed: it
// says nothing about the revision.
func revokeVerdict(run *task.CheckRun, name string) {
	if name != "" && run.Verdict == task.CheckPassed {
		run.Verdict, run.Reason = task.CheckFailed, "files changed while it ran: "+task.ClipText(textdiff.Printable(name), 300)
	}
}

// folder is a folder with the files of a commit, below the folder of the runs,
// that only checks use. Its repository has no record of it as a worktree.
type folder struct {
	dir    string // contains work, git and home
	name   string
	commit string
	git    git.Private
	home   string // HOME of commands
	runs   *os.Root
}

// newFolder creates a folder and replaces an existing one of that name.
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

// remove deletes the folder; Sweep retries what cannot be deleted.
func (f *folder) remove(ctx context.Context) {
	_ = remove.All(context.WithoutCancel(ctx), f.runs, f.name)
	_ = f.runs.Close()
}

func (f *folder) check(ctx context.Context, runner check.Runner, id task.ID, c task.Check, run *task.CheckRun) {
	record(run, runner.Run(ctx, check.Command{
		Run: c.Run, Folder: f.work(), Home: f.home, Network: c.Network, Timeout: c.Timeout(), Task: id,
	}))
}

// unchanged checks that the files are still those of the commit. No process may
// be running in the folder.
func (f *folder) unchanged(ctx context.Context, run *task.CheckRun) error {
	g := f.git.In(f.work())
	_, _ = g.Run(ctx, nil, "update-index", "-q", "--refresh") // some may have been touched
	name := ""
	err := g.EachName(ctx, func(s string) { name = s }, diffFiles...)
	revokeVerdict(run, name)
	return err
}

// Prefixes of folders below the folder of the runs.
const (
	checkPrefix = "check-" // files of a revision without a worktree
	mergePrefix = "merge-" // files of a merge
	homePrefix  = "cache-" // HOME of the commands of all merges into a repository
)

// homeFor is how long an unused HOME of merges is kept.
const homeFor = 30 * 24 * time.Hour

// Sweep deletes what a killed server left below the folder of the runs, and
// what has been unused for long. Call it at startup, before anything else.
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
