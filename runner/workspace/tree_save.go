package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"taskyard/task"
)

// The bounds of what is put on a branch without a person.
const (
	maxSaved      = 20_000    // files
	maxSavedBytes = 512 << 20 // of them all
	maxSaving     = 10 * time.Minute
)

// unsavedError says why the work of a run is left in its folder.
type unsavedError string

func (e unsavedError) Error() string { return string(e) }

// finish puts the work on the branch, removes the folder when nothing in it
// would be lost, and reports what changed since the run began.
func (t *tree) finish(ctx context.Context, o Options) *task.Work {
	ctx, stop := context.WithTimeout(ctx, maxSaving)
	defer stop()
	l := newList(o.Redact)
	l.work.Repository = t.state.Repository
	t.unblock(ctx)
	tip, err := t.keep(ctx, o)
	if err == nil {
		err = t.changes(ctx, l, tip)
		if err != nil {
			l.work.Note = joined(l.work.Note, "The files could not be compared: "+reason(err)+".")
		}
		l.work.Branch = t.state.Branch
		err = t.leftover(ctx)
	}
	switch {
	case err != nil:
		l.work.Folder = t.work()
		l.work.Note = task.ClipText(joined(l.work.Note, "Its folder is left as it is: "+reason(err)+"."), task.MaxWorkNote)
	case tip == t.state.Root:
		l.work.Branch = ""
		_ = t.clear(ctx)
		_, _ = t.repo.git.run(ctx, nil, "update-ref", "-d", "refs/heads/"+t.state.Branch, tip)
	default:
		if err := t.clear(ctx); err != nil {
			l.work.Folder = t.work()
		}
	}
	t.state.Open = false
	_ = t.save() // the next run of this task would look again
	return l.work
}

// keep commits what is not committed, has the branch name it, and returns the
// commit. The error says why that was not done.
func (t *tree) keep(ctx context.Context, o Options) (string, error) {
	head, err := t.commit(ctx, fmt.Sprintf("Taskyard run %d\n\nLeft by agent %s without a commit.\n", o.Run, o.Agent), t.git())
	if err != nil {
		return "", err
	}
	return head, t.name(ctx, head)
}

// commit returns a commit of what lies in the folder: that of the branch where
// there is nothing more. Our index is then what lies there. The contents of
// files are read by contents, in whose folder those that changed lie.
func (t *tree) commit(ctx context.Context, message string, contents git) (string, error) {
	head, err := t.admin().run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		head = t.repo.tip(ctx, t.state.Branch) // the agent spoilt it
	}
	if head == "" {
		return "", unsavedError("its branch " + t.state.Branch + " is gone")
	}
	g := t.git()
	_ = os.Remove(filepath.Join(t.dir, "git", "index.lock"))
	if _, err := g.run(ctx, nil, "read-tree", "-i", "-m", head); err != nil {
		return "", err
	}
	if err := t.stage(ctx, contents); err != nil {
		return "", err
	}
	root, err := g.run(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	if had, err := g.run(ctx, nil, "rev-parse", head+"^{tree}"); err != nil {
		return "", err
	} else if had != root {
		return g.run(ctx, strings.NewReader(message), "commit-tree", root, "-p", head)
	}
	return head, nil
}

// unblock removes what has the name of a file that Git reads by itself, and
// would be waited for without end: nobody writes into such a pipe any more.
func (t *tree) unblock(ctx context.Context) {
	_, _ = walk(ctx, t.work(), func(root *os.Root, name, _ string, info fs.FileInfo) {
		const special = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice
		if (name == ".gitignore" || name == ".gitattributes") && info.Mode()&special != 0 {
			_ = root.Remove(name)
		}
	})
}

// name has the branch name a commit. A branch that the agent left behind keeps
// its own, and the commit gets another.
func (t *tree) name(ctx context.Context, commit string) error {
	return patiently(ctx, func() error {
		tip := t.repo.tip(ctx, t.state.Branch)
		if tip == commit {
			return nil
		}
		if tip != "" && !t.repo.holds(ctx, commit, tip) {
			t.state.Branch, tip = t.repo.free(ctx, t.state.Branch), ""
		}
		if tip == "" {
			tip = strings.Repeat("0", len(commit))
		}
		_, err := t.repo.git.run(ctx, nil, "update-ref", "-m", "taskyard", "refs/heads/"+t.state.Branch, commit, tip)
		return err
	})
}

// stage brings our index to what lies in the folder: changed, new and deleted
// files, but none that the repository ignores.
func (t *tree) stage(ctx context.Context, contents git) error {
	s := &staging{}
	root, err := os.OpenRoot(t.work())
	if err != nil {
		return unsavedError("the folder cannot be read")
	}
	defer func() { _ = root.Close() }()
	s.root = root
	g := t.git()
	for _, args := range [][]string{
		{"diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		if err := g.stream(ctx, nil, func(r io.Reader) error { return names(r, s.take) }, args...); err != nil {
			return err
		}
	}
	zero := strings.Repeat("0", len(t.state.Root))
	var gone bytes.Buffer
	for _, name := range s.gone {
		fmt.Fprintf(&gone, "0 %s\t%s\x00", zero, name)
	}
	if _, err := g.run(ctx, &gone, "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if contents.dir != g.dir {
		if err := copyAll(s.root, contents.dir, s.there); err != nil {
			return err
		}
	}
	there := strings.NewReader(strings.Join(append(s.there, ""), "\x00"))
	_, err = contents.run(ctx, there, "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	return err
}

// names calls each for every name that ends with NUL.
func names(r io.Reader, each func(string) error) error {
	in := bufio.NewReader(r)
	for {
		name, err := in.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(strings.TrimSuffix(name, "\x00")); err != nil {
			return err
		}
	}
}

// staging sorts names by what lies there.
type staging struct {
	root        *os.Root
	there, gone []string
	bytes       int64
}

func (s *staging) take(name string) error {
	if strings.HasSuffix(name, "/") {
		return nil // a repository within: see leftover
	}
	info, err := s.root.Lstat(name)
	switch {
	case err != nil || info.IsDir():
		s.gone = append(s.gone, name)
	case info.Mode().IsRegular():
		s.bytes += info.Size()
		s.there = append(s.there, name)
	case info.Mode()&fs.ModeSymlink != 0:
		s.there = append(s.there, name)
	default: // a pipe in the place of a file
		s.gone = append(s.gone, name)
	}
	if n := len(s.there) + len(s.gone); n > maxSaved {
		return unsavedError(fmt.Sprintf("more than %s files changed", thousands(maxSaved)))
	}
	if s.bytes > maxSavedBytes {
		return unsavedError(fmt.Sprintf("its changed files are larger than %d MiB in all", maxSavedBytes>>20))
	}
	return nil
}

// leftover returns why the folder must stay although its files are on the
// branch: it holds repositories of its own, whose commits are nowhere else.
func (t *tree) leftover(ctx context.Context) error {
	var inner string
	err := t.git().stream(ctx, nil, func(r io.Reader) error {
		return names(r, func(name string) error {
			if strings.HasSuffix(name, "/") {
				inner = name
			}
			return nil
		})
	}, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	err = t.git().stream(ctx, nil, func(r io.Reader) error {
		return names(r, func(line string) error {
			if name, ok := submodule(line); ok && t.filled(name) {
				inner = name + "/"
			}
			return nil
		})
	}, "ls-files", "-z", "--stage")
	if err == nil && inner != "" {
		return unsavedError("the files of the repository within it, " + task.ClipText(printable(inner), 200) + ", are not on the branch")
	}
	return err
}

// submodule reads a line of the index: "160000 <commit> 0\t<path>".
func submodule(line string) (name string, ok bool) {
	about, name, _ := strings.Cut(line, "\t")
	return name, strings.HasPrefix(about, "160000 ")
}

// filled reports whether a folder holds anything.
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
