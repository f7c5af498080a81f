//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskyard/task"
)

// child opens the worktree of a run that run 1 delegated.
func (s *site) child(run task.ID) *Space {
	o := s.options(run, run, 1)
	o.SharedRun, o.Shared, o.SharedTree = 1, filepath.Join(s.runs, "run-1-1"), 1
	return open(s.t, o)
}

func (s *site) says(what, folder, name, want string) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if want == "" {
		if !os.IsNotExist(err) {
			s.t.Errorf("%s: %s is there: %v", what, name, err)
		}
		return
	}
	ok(s.t, err)
	same(s.t, what+": "+name, string(b), want)
}

func TestADelegatedRunBranchesFromItsParentAndIsMergedBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"auth.go": "one\ntwo\nthree\nfour\nfive\n", "old.go": "old\n", "same.go": "same\n"})
	parent := s.open(1, 1, 1)
	write(t, parent.Folder(), map[string]string{"auth.go": "ONE\ntwo\nthree\nfour\nfive\n", "note.md": "not committed\n"})
	child := s.child(2)
	s.says("the child begins with what its parent has not committed", child.Folder(), "auth.go", "ONE\ntwo\nthree\nfour\nfive\n")
	s.says("the child", child.Folder(), "note.md", "not committed\n")

	write(t, child.Folder(), map[string]string{"auth.go": "ONE\ntwo\nthree\nfour\nFIVE\n", "sub/new.go": "new\n"})
	ok(t, os.Remove(filepath.Join(child.Folder(), "old.go")))
	write(t, parent.Folder(), map[string]string{"auth.go": "ONE\nTWO\nthree\nfour\nfive\n", "mine.go": "mine\n"}) // meanwhile
	w := child.Close(t.Context(), true)
	same(t, "merge", w.Merge, "Merged into the worktree of run 1.")
	same(t, "its own files", changeList(w), "modified auth.go\ndeleted old.go\nadded sub/new.go")
	s.says("the parent has both", parent.Folder(), "auth.go", "ONE\nTWO\nthree\nfour\nFIVE\n")
	s.says("the parent", parent.Folder(), "sub/new.go", "new\n")
	s.says("the parent", parent.Folder(), "old.go", "")
	s.says("the parent", parent.Folder(), "mine.go", "mine\n")

	got := parent.Close(t.Context(), true)
	same(t, "the parent's branch", changeList(got), "modified auth.go\nadded mine.go\nadded note.md\ndeleted old.go\nadded sub/new.go")
	same(t, "status of the repository", s.git("status", "--porcelain"), "")
}

func TestAConflictIsNotMerged(t *testing.T) {
	t.Parallel()
	type files = map[string]string
	for name, c := range map[string]struct {
		parent, child files
		failed        bool
		why           string
	}{
		"both changed a line": {
			parent: files{"a.go": "parent\n", "b.go": "p\n"}, child: files{"a.go": "child\n", "new.go": "n\n"},
			why: "conflicts in a.go.",
		},
		"both made a file": {parent: files{"made.go": "parent\n"}, child: files{"made.go": "child\n"}, why: "conflicts in made.go."},
		"an ignored file is in the way": {
			parent: files{"x.log": "parent\n"}, child: files{"x.log": "child\n", ".gitignore": "*.txt\n"},
			why: "there is a file x.log in the way.",
		},
		"the run did not complete": {child: files{"a.go": "child\n"}, failed: true, why: "the run did not complete."},
		"nothing changed":          {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, map[string]string{"a.go": "one\n", "b.go": "two\n", ".gitignore": "*.log\n"})
			parent := s.open(1, 1, 1)
			child := s.child(2)
			write(t, child.Folder(), c.child)
			write(t, parent.Folder(), c.parent)
			w := child.Close(t.Context(), !c.failed)
			if c.why == "" {
				same(t, "merge", w.Merge, "")
				return
			}
			same(t, "merge", w.Merge[:min(len(w.Merge), len("Not merged into the worktree of run 1: "+c.why))],
				"Not merged into the worktree of run 1: "+c.why)
			if !strings.HasSuffix(w.Merge, "Its changes are on the branch taskyard/run-2.") {
				t.Errorf("got the merge %q", w.Merge)
			}
			for file, text := range c.parent {
				s.says("the parent keeps what it wrote", parent.Folder(), file, text)
			}
			s.says("nothing is half-merged", parent.Folder(), "new.go", "")
		})
	}
}

func TestARunIsMergedIntoTheBranchOfAParentThatHasEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.go": "one\n"})
	parent := s.open(1, 1, 1)
	write(t, parent.Folder(), map[string]string{"b.go": "parent\n"})
	first, second := s.child(2), s.child(3)
	same(t, "the parent's branch", parent.Close(t.Context(), true).Branch, "taskyard/run-1")
	write(t, first.Folder(), map[string]string{"a.go": "child\n"})
	same(t, "merge", first.Close(t.Context(), true).Merge, "Merged into the worktree of run 1.")
	write(t, second.Folder(), map[string]string{"a.go": "other\n"})
	same(t, "merge", second.Close(t.Context(), true).Merge,
		"Not merged into the worktree of run 1: conflicts in a.go. Its changes are on the branch taskyard/run-3.")
	again := s.open(4, 1, 1)
	s.says("the parent's next run", again.Folder(), "a.go", "child\n")
	s.says("the parent's next run", again.Folder(), "b.go", "parent\n")
	same(t, "folders", strings.Join(s.runsLeft(), " "), "tree-1 tree-2 tree-3")
}

// runsLeft lists the folders of the runs.
func (s *site) runsLeft() (list []string) {
	entries, err := os.ReadDir(s.runs)
	ok(s.t, err)
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, e.Name())
		}
	}
	return list
}

func TestAParentWithoutChangesGetsTheWorkOfItsChild(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.go": "one\n"})
	parent := s.open(1, 1, 1)
	child := s.child(2)
	same(t, "the parent's branch", parent.Close(t.Context(), true).Branch, "")
	write(t, child.Folder(), map[string]string{"a.go": "child\n"})
	same(t, "merge", child.Close(t.Context(), true).Merge, "Merged into the worktree of run 1.")
	same(t, "the branch", s.git("show", "taskyard/run-1:a.go"), "child")
}

func TestAFolderIsSharedWithTheRunThatDelegated(t *testing.T) {
	t.Parallel()
	runs := t.TempDir()
	write(t, runs, map[string]string{"run-1-1/work/a.go": "one\n", "run-2-1/work/": ""})
	o := Options{Run: 2, Origin: 2, Lease: 1, Dir: filepath.Join(runs, "run-2-1"), SharedRun: 1, Shared: filepath.Join(runs, "run-1-1")}
	s := open(t, o)
	same(t, "folder", s.Folder(), filepath.Join(runs, "run-1-1/work"))
	write(t, s.Folder(), map[string]string{"a.go": "two\n"})
	same(t, "what changed", changeList(s.Close(t.Context(), true)), "modified a.go")
	o.ReadOnly = true
	s = open(t, o)
	write(t, s.Folder(), map[string]string{"a.go": "three, by the parent\n"})
	if w := s.Close(t.Context(), true); w.Total != 0 {
		t.Errorf("a read-only run is reported to have changed %s", changeList(w))
	}
}

func TestNothingIsReadOrWrittenBeyondTheFolderOfAWorkingRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"sub/a.go": "one\n"})
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "secret\n"})
	parent := s.open(1, 1, 1)
	child := s.child(2)
	write(t, child.Folder(), map[string]string{"sub/new.go": "new\n"})
	ok(t, os.RemoveAll(filepath.Join(parent.Folder(), "sub")))
	ok(t, os.Symlink(outside, filepath.Join(parent.Folder(), "sub")))
	ok(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(parent.Folder(), "link")))
	ok(t, syscall.Mkfifo(filepath.Join(parent.Folder(), "pipe"), 0o600))
	other := s.child(3)
	same(t, "what a child gets", s.listed(other.Folder()), "link -> "+filepath.Join(outside, "secret")+"\nsub -> "+outside)
	if w := child.Close(t.Context(), true); !strings.HasPrefix(w.Merge, "Not merged into the worktree of run 1: conflicts in sub") {
		t.Errorf("got the merge %q", w.Merge)
	}
	same(t, "outside", s.listed(outside), "secret")
}

// listed lists the files below a folder, except those of Git.
func (s *site) listed(folder string) string {
	var list []string
	ok(s.t, filepath.WalkDir(folder, func(name string, e os.DirEntry, err error) error {
		if name = strings.TrimPrefix(name, folder+"/"); e.IsDir() || name == ".git" {
			return err
		}
		if to, err := os.Readlink(filepath.Join(folder, name)); err == nil {
			name += " -> " + to
		}
		list = append(list, name)
		return err
	}))
	return strings.Join(list, "\n")
}

func TestARetryIsMergedWithWhatTheLostRunLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.go": "one\n"})
	parent := s.open(1, 1, 1)
	lost := s.options(2, 2, 1)
	lost.SharedRun, lost.Shared, lost.SharedTree = 1, filepath.Join(s.runs, "run-1-1"), 1
	write(t, open(t, lost).Folder(), map[string]string{"b.go": "before the crash\n"})
	w := Salvage(t.Context(), lost)
	if w == nil || !strings.HasPrefix(w.Merge, "Not merged into the worktree of run 1: the run did not complete.") {
		t.Fatalf("the lost run left %+v", w)
	}
	s.says("the parent has nothing of it yet", parent.Folder(), "b.go", "")
	again := lost
	again.Run, again.Dir = 3, filepath.Join(s.runs, "run-3-1")
	retry := open(t, again)
	s.says("the retry continues", retry.Folder(), "b.go", "before the crash\n")
	write(t, retry.Folder(), map[string]string{"c.go": "after it\n"})
	same(t, "merge", retry.Close(t.Context(), true).Merge, "Merged into the worktree of run 1.")
	s.says("the parent", parent.Folder(), "b.go", "before the crash\n")
	s.says("the parent", parent.Folder(), "c.go", "after it\n")

	// A later run of the same task brings only what is new.
	write(t, parent.Folder(), map[string]string{"b.go": "by the parent\n"})
	again.Run, again.Dir = 4, filepath.Join(s.runs, "run-4-1")
	later := open(t, again)
	write(t, later.Folder(), map[string]string{"d.go": "later\n"})
	same(t, "merge", later.Close(t.Context(), true).Merge, "Merged into the worktree of run 1.")
	s.says("the parent keeps its own", parent.Folder(), "b.go", "by the parent\n")
	s.says("the parent", parent.Folder(), "d.go", "later\n")
}
