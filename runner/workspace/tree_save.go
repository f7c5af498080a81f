package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taskyard/runner/git"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// The bounds of what is committed to a branch automatically.
const (
	maxSaved      = 20_000    // files
	maxSavedBytes = 512 << 20 // bytes of all files
	maxSaving     = 10 * time.Minute
)

// unsavedError says why the work of a run stays in its folder.
type unsavedError string

func (e unsavedError) Error() string { return string(e) }

// finish commits the work to the branch, deletes the folder if nothing in it
// would be lost, and reports what changed since the run began.
func (t *tree) finish(ctx context.Context, o Options) *task.Work {
	ctx, stop := context.WithTimeout(ctx, maxSaving)
	defer stop()
	l := textdiff.NewList(o.Redact)
	l.Work.Repository = t.state.Repository
	t.unblock(ctx)
	if t.isTaken() {
		return t.finishAside(ctx, o, l)
	}
	tip, err := t.commitChanges(ctx, o)
	if err == nil {
		err = t.changes(ctx, l, tip)
		if err != nil {
			l.Work.Note = joinNonEmpty(l.Work.Note, "The files could not be compared: "+git.Reason(err)+".")
		}
		l.Work.Branch = t.state.Branch
		err = t.detachRun(ctx, l.Work)
	}
	switch {
	case err != nil || t.state.Task: // its next run continues there
	case tip == t.state.Root:
		l.Work.Branch = ""
		_ = t.clear(ctx)
		_, _ = t.repo.Git.Run(ctx, nil, "update-ref", "-d", "refs/heads/"+t.state.Branch, tip)
	default:
		if err := t.clear(ctx); err != nil {
			l.Work.Folder = t.work()
		}
	}
	t.recordEnd(l, err)
	return l.Work
}

// recordEnd records that the last run is finished, or why its files stay
// uncommitted.
func (t *tree) recordEnd(l *textdiff.List, err error) {
	if err != nil {
		l.Work.Folder = t.work()
		l.Work.Note = task.ClipText(joinNonEmpty(l.Work.Note, "Its folder is left as it is: "+git.Reason(err)+"."), task.MaxWorkNote)
	}
	t.state.Open = false
	_ = t.save() // otherwise the next run of this task checks again
}

// finishAside is used instead of finish if another server has continued the
// branch: the run's changes get a separate branch, and the folder can follow
// the other one.
func (t *tree) finishAside(ctx context.Context, o Options, l *textdiff.List) *task.Work {
	commit, err := t.commit(ctx, t.message(o), t.git())
	if err == nil {
		err = t.changes(ctx, l, commit)
	}
	if err == nil && !t.repo.IsAncestor(ctx, t.repo.Tip(ctx, t.state.Branch), commit) {
		l.Work.Branch = t.repo.Free(ctx, fmt.Sprintf("taskyard/run-%d", o.Run))
		l.Work.Note = fmt.Sprintf("Another server has continued %s; what this run left is on %s.", t.state.Branch, l.Work.Branch)
		err = t.repo.Move(ctx, l.Work.Branch, commit, "")
	}
	if err == nil {
		err = errors.Join(t.point(ctx, commit), t.copyIndex())
	}
	if err == nil {
		err = os.Remove(filepath.Join(t.state.Admin, takenName))
	}
	t.recordEnd(l, err)
	return l.Work
}

// commitChanges commits uncommitted changes, points the branch to the commit, and
// returns it. The error says why that was not possible.
func (t *tree) commitChanges(ctx context.Context, o Options) (string, error) {
	head, err := t.commit(ctx, t.message(o), t.git())
	if err != nil {
		return "", err
	}
	return head, t.name(ctx, head)
}

// message returns the message for a commit of a run's changes.
func (t *tree) message(o Options) string {
	if t.state.Task {
		return titled(o.Title, t.state.Branch)
	}
	return fmt.Sprintf("Taskyard run %d\n\nLeft by agent %s without a commit.\n", o.Run, o.Agent)
}

// commit returns a commit of the contents of the folder, which is that of the
// branch if nothing has changed. Our index then matches the contents. Changed
// files are read through contents, whose folder contains them.
func (t *tree) commit(ctx context.Context, message string, contents git.Git) (string, error) {
	head, err := t.worktreeGit().Run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		head = t.repo.Tip(ctx, t.state.Branch) // the agent damaged it
	}
	if head == "" {
		return "", unsavedError("its branch " + t.state.Branch + " is gone")
	}
	g := t.git()
	_ = os.Remove(filepath.Join(t.dir, "git", "index.lock"))
	if _, err := g.Run(ctx, nil, "read-tree", "-i", "-m", head); err != nil {
		return "", err
	}
	if differs, err := t.stage(ctx, g, contents, head, true); err != nil || !differs {
		return head, err
	}
	root, err := g.Run(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	if had, err := g.Run(ctx, nil, "rev-parse", head+"^{tree}"); err != nil {
		return "", err
	} else if had != root {
		return t.signed(g).CommitTree(ctx, root, message, head)
	}
	return head, nil
}

// unblock deletes special files with the names of files that Git reads by
// itself: reading such a pipe would block forever, because no process writes to
// it any more.
func (t *tree) unblock(ctx context.Context) {
	_, _ = walk(ctx, t.work(), func(root *os.Root, name, _ string, info fs.FileInfo) {
		const special = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice
		if (name == ".gitignore" || name == ".gitattributes") && info.Mode()&special != 0 {
			_ = root.Remove(name)
		}
	})
}

// name points the branch to a commit. If the agent's branch has diverged, it
// stays, and the commit gets another branch.
func (t *tree) name(ctx context.Context, commit string) error {
	return git.RetryLocked(ctx, func() error {
		tip := t.repo.Tip(ctx, t.state.Branch)
		if tip == commit {
			return nil
		}
		if tip != "" && !t.repo.IsAncestor(ctx, commit, tip) {
			if t.state.Task {
				return errApart
			}
			t.state.Branch, tip = t.repo.Free(ctx, t.state.Branch), ""
		}
		return t.repo.Move(ctx, t.state.Branch, commit, tip)
	})
}

// stage updates the index of g, which is that of the commit head, to the
// contents of the folder: changed and deleted files and, with others, new files,
// except those that the repository ignores. It reports whether any may differ
// from the index.
func (t *tree) stage(ctx context.Context, g, contents git.Git, head string, others bool) (differs bool, err error) {
	s := &staging{}
	root, err := os.OpenRoot(t.work())
	if err != nil {
		return false, unsavedError("the folder cannot be read")
	}
	defer func() { _ = root.Close() }()
	s.root = root
	err = s.list(ctx, g, others)
	var many unsavedError
	if errors.As(err, &many) { // the agent may have committed them: only Git has not looked at them yet
		s = &staging{root: root}
		if s.committed, err = t.sizes(ctx, head); err == nil {
			err = s.list(ctx, g, others)
		}
	}
	if err != nil {
		return false, err
	}
	if len(s.deleted) > 0 {
		zero := t.repo.Zero()
		var deleted bytes.Buffer
		for _, name := range s.deleted {
			fmt.Fprintf(&deleted, "0 %s\t%s\x00", zero, name)
		}
		if _, err := g.Run(ctx, &deleted, "update-index", "-z", "--index-info"); err != nil {
			return false, err
		}
	}
	if len(s.present) == 0 {
		return len(s.deleted) > 0, nil
	}
	if contents.Dir != g.Dir {
		if err := copyAll(s.root, contents.Dir, s.present); err != nil {
			return false, err
		}
	}
	there := strings.NewReader(strings.Join(append(s.present, ""), "\x00"))
	_, err = contents.Run(ctx, there, "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	return true, err
}

// sizes returns the sizes of the files of a commit.
func (t *tree) sizes(ctx context.Context, commit string) (map[string]int64, error) {
	list := map[string]int64{}
	err := t.bareGit().EachName(ctx, func(line string) { // "100644 blob <name> <size>\t<path>"
		about, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 4 {
			if size, err := strconv.ParseInt(f[3], 10, 64); err == nil {
				list[name] = size
			}
		}
	}, "ls-tree", "-r", "-l", "-z", commit)
	return list, err
}

// staging sorts names by file type.
type staging struct {
	root             *os.Root
	present, deleted []string
	committed        map[string]int64 // sizes of files that do not count if they have not changed; may be nil
	count            int
	bytes            int64
}

// list takes the names of the files that may have changed.
func (s *staging) list(ctx context.Context, g git.Git, others bool) error {
	lists := [][]string{{"diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"}}
	if others {
		lists = append(lists, []string{"ls-files", "-z", "--others", "--exclude-standard"})
	}
	for _, args := range lists {
		if err := g.Stream(ctx, nil, func(r io.Reader) error { return git.Names(r, s.add) }, args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *staging) add(name string) error {
	if strings.HasSuffix(name, "/") {
		return nil // a nested repository: see nested
	}
	info, err := s.root.Lstat(name)
	switch {
	case err != nil || info.IsDir():
		s.deleted = append(s.deleted, name)
	case info.Mode().IsRegular():
		s.present = append(s.present, name)
		if size, ok := s.committed[name]; ok && size == info.Size() {
			return nil
		}
		s.bytes += info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		s.present = append(s.present, name)
	default: // a pipe in place of a file
		s.deleted = append(s.deleted, name)
	}
	if s.count++; s.count > maxSaved {
		return unsavedError(fmt.Sprintf("more than %s files changed", textdiff.Thousands(maxSaved)))
	}
	if s.bytes > maxSavedBytes {
		return unsavedError(fmt.Sprintf("its changed files are larger than %d MiB in all", maxSavedBytes>>20))
	}
	return nil
}

// detachRun detaches the folder from its run. The error says that it must stay,
// although its files are on the branch: it contains nested repositories, whose
// commits are nowhere else. The worktree of a task stays anyway, until the task
// ends.
func (t *tree) detachRun(ctx context.Context, w *task.Work) error {
	inner, err := t.nested(ctx)
	inner = task.ClipText(textdiff.Printable(inner), 200)
	switch {
	case t.state.Task:
		if inner != "" {
			w.Note = joinNonEmpty(w.Note, "The folder "+inner+" is a repository of its own, so its files are not on the branch.")
		}
		return t.detach(ctx)
	case err == nil && inner != "":
		return unsavedError("the files of the repository within it, " + inner + ", are not on the branch")
	}
	return err
}

// nested returns the folder of a nested repository, "" if there is none. The
// setup of a project fills submodules, so those of its tasks do not count.
func (t *tree) nested(ctx context.Context) (inner string, err error) {
	err = t.git().EachName(ctx, func(name string) {
		if strings.HasSuffix(name, "/") {
			inner = name
		}
	}, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil || t.state.Task {
		return inner, err
	}
	err = t.git().EachName(ctx, func(line string) {
		if name, ok := submodule(line); ok && t.filled(name) {
			inner = name + "/"
		}
	}, "ls-files", "-z", "--stage")
	return inner, err
}

// submodule parses a line of the index: "160000 <commit> 0\t<path>".
func submodule(line string) (name string, ok bool) {
	about, name, _ := strings.Cut(line, "\t")
	return name, strings.HasPrefix(about, "160000 ")
}

// filled reports whether a folder is not empty.
func (t *tree) filled(name string) bool {
	root, err := os.OpenRoot(t.work())
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(path.Clean(name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	list, _ := f.ReadDir(1)
	return len(list) > 0
}
